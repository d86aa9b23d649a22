"""Ratios of pairs and what is said of them."""

import pytest

from tests.bench.ratios import Ratio, ratio


def test_the_median_of_a_pairs_ratios_counts_and_not_that_of_sums() -> None:
    found = ratio([(1.0, 1.0), (10.0, 20.0), (2.0, 2.2)])
    assert found.median == pytest.approx(1.1)
    assert found.low <= found.median <= found.high
    assert found == ratio([(1.0, 1.0), (10.0, 20.0), (2.0, 2.2)])


@pytest.mark.parametrize(
    ("low", "high", "words"), [(0.95, 1.0, "met"), (0.9, 0.94, "missed"), (0.9, 0.96, "not shown")]
)
def test_a_goal_is_met_only_when_the_interval_lies_beyond_it(low: float, high: float, words: str) -> None:
    assert Ratio(0.95, low, high).judged(0.95) == words
