"""Kubernetes quantities as numbers."""

from decimal import Decimal

import pytest

from arriero_operator import quantity

AMOUNTS = {
    "2": 2,
    "500m": Decimal("0.5"),
    "8Gi": 8 * 2**30,
    "1.5": Decimal("1.5"),
    "3M": 3_000_000,
    "1e3": 1000,
    "1E": 10**18,
}


@pytest.mark.parametrize(("text", "amount"), AMOUNTS.items())
def test_a_quantity_is_a_number(text: str, amount: Decimal) -> None:
    assert quantity.parse(text) == amount


@pytest.mark.parametrize("text", ["", "Gi", "two", "NaN", "Infinity"])
def test_other_text_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        quantity.parse(text)
