"""Kubernetes quantities, such as 2, "500m" or "8Gi", as numbers."""

from decimal import Decimal, InvalidOperation
from typing import Final

_FACTORS: Final = {
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal("1e3"),
    "M": Decimal("1e6"),
    "G": Decimal("1e9"),
    "T": Decimal("1e12"),
    "P": Decimal("1e15"),
    "E": Decimal("1e18"),
}


def parse(text: str) -> Decimal:
    """The amount. Raises ValueError for text that is no quantity."""
    number, factor = text.strip(), Decimal(1)
    for suffix, value in _FACTORS.items():
        if number.endswith(suffix):
            number, factor = number.removesuffix(suffix), value
            break
    try:
        amount = Decimal(number)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a quantity such as 2, '500m' or '8Gi'") from None
    if not amount.is_finite():
        raise ValueError(f"{text!r} is not a quantity such as 2, '500m' or '8Gi'")
    return amount * factor


def written(amount: Decimal, *, in_bytes: bool = False) -> str:
    """The shortest text of an amount that is exact: bytes in powers of 1024, others whole or in thousandths."""
    if amount % 1:
        return f"{(amount * 1000).normalize():f}m"
    for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki") if in_bytes and amount else ():
        if not amount % _FACTORS[suffix]:
            return f"{int(amount / _FACTORS[suffix])}{suffix}"
    return str(int(amount))
