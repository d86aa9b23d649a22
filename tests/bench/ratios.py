"""Ratios of interleaved pairs: the median, and an interval by the bootstrap."""

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_RESAMPLES: Final = 4000


@dataclass(frozen=True, slots=True)
class Ratio:
    """The median of a pair's ratios, and the 95 % interval of that median."""

    median: float
    low: float
    high: float

    def judged(self, goal: float) -> str:
        """Against a goal that is a lower bound: met when the whole interval lies beyond it."""
        if self.low >= goal:
            return "met"
        return "missed" if self.high < goal else "not shown"


def ratio(pairs: Sequence[tuple[float, float]]) -> Ratio:
    """Of (reference, measured) pairs: measured / reference. The same pairs give the same interval."""
    return spread([measured / reference for reference, measured in pairs])


def spread(found: Sequence[float]) -> Ratio:
    """The median of values, with its interval. The same values give the same interval."""
    source = random.Random(0)
    medians = sorted(statistics.median(source.choices(found, k=len(found))) for _ in range(_RESAMPLES))
    return Ratio(statistics.median(found), medians[int(_RESAMPLES * 0.025)], medians[int(_RESAMPLES * 0.975) - 1])
