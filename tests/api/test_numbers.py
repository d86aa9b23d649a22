"""Numbers in texts that others write."""

import pytest

from arriero_api.numbers import whole


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), ("9" * 18, 10**18 - 1)])
def test_decimal_digits_are_a_number(text: str, number: int) -> None:
    assert whole(text) == number


@pytest.mark.parametrize("text", ["", "²", "٣", "-1", "1.5", " 1", "1\n", "9" * 19, "9" * 5000])
def test_all_else_is_none(text: str) -> None:
    assert whole(text) is None
