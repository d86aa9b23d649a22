"""Ratios of interleaved pairs: their centre, and an interval that supposes nothing of how they scatter but symmetry."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Final

_BELOW: Final = 0.025
"""Of the probability, on each side of the interval."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """The centre of the pairs' ratios, and the 95 % interval of that centre."""

    centre: float
    low: float
    high: float

    def judged(self, goal: float) -> str:
        """Against a goal that is a lower bound: met when the whole interval lies beyond it."""
        if self.low >= goal:
            return "met"
        return "missed" if self.high < goal else "not shown"


def ratio(pairs: Sequence[tuple[float, float]]) -> Ratio:
    """Of (reference, measured) pairs: measured / reference. By their logarithms, so that the ratio the other way round
    is the inverse."""
    found = spread([math.log(measured / reference) for reference, measured in pairs])
    return Ratio(math.exp(found.centre), math.exp(found.low), math.exp(found.high))


def spread(values: Sequence[float]) -> Ratio:
    """Hodges' and Lehmann's centre of values, the median of the means of any two of them, with the interval that
    belongs to it by Wilcoxon's test of signed ranks. A round that was disturbed moves both as little as it moves a
    median, and two thirds of the rounds are enough for the same interval. Of fewer than six values nothing can be
    said with 95 %: their interval is without bounds."""
    means = sorted((one + other) / 2 for one, other in combinations_with_replacement(values, 2))
    centre, outside = statistics.median(means), _outside(len(values))
    return Ratio(centre, -math.inf, math.inf) if outside < 0 else Ratio(centre, means[outside], means[-1 - outside])


def _outside(count: int) -> int:
    """How many of the means lie below the interval of so many values; less than none where even all are too few."""
    ways = [1]  # sum of the ranks of one sign → how many choices of signs have it
    for rank in range(1, count + 1):
        ways = [a + b for a, b in zip([*ways, *[0] * rank], [*[0] * rank, *ways], strict=True)]
    below = 0
    for total, found in enumerate(ways):
        below += found
        if below > _BELOW * 2**count:
            return total - 1
    raise AssertionError("a probability of more than one")
