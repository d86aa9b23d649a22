"""Ratios of pairs and what is said of them."""

import math

import pytest

from tests.bench.ratios import Ratio, ratio, spread


def test_the_centre_and_its_interval_are_those_of_wilcoxons_tables() -> None:
    # Ten values: eight of the fifty-five means lie below the interval.
    assert spread(range(1, 11)) == Ratio(5.5, 3.0, 8.0)


def test_of_six_values_the_interval_is_all_of_them_and_fewer_show_nothing() -> None:
    assert spread([3.0, 1.0, 2.0, 4.0, 6.0, 5.0]) == Ratio(3.5, 1.0, 6.0)
    few = ratio([(1.0, 2.0)] * 5)
    assert (few.low, few.high, few.judged(0.95)) == (0.0, math.inf, "not shown")


def test_a_round_that_was_disturbed_moves_the_centre_by_little() -> None:
    calm = [(1.0, 1.0 + step / 1000) for step in range(-10, 11)]
    disturbed = ratio([*calm[:-1], (1.0, 30.0)])
    assert disturbed.centre == pytest.approx(ratio(calm).centre, abs=0.002)
    assert disturbed.high < 1.01


def test_the_ratio_the_other_way_round_is_the_inverse() -> None:
    pairs = [(1.0, 1.2), (2.0, 1.9), (3.0, 3.3), (1.0, 1.1), (2.0, 2.2), (1.5, 1.5), (1.0, 0.8)]
    one, other = ratio(pairs), ratio([(measured, reference) for reference, measured in pairs])
    assert (1 / other.centre, 1 / other.high, 1 / other.low) == pytest.approx((one.centre, one.low, one.high))


@pytest.mark.parametrize(
    ("low", "high", "words"), [(0.95, 1.0, "met"), (0.9, 0.94, "missed"), (0.9, 0.96, "not shown")]
)
def test_a_goal_is_met_only_when_the_interval_lies_beyond_it(low: float, high: float, words: str) -> None:
    assert Ratio(0.95, low, high).judged(0.95) == words
