"""Numbers in texts that others write. Standard library only."""

import re
from typing import Final

_WHOLE: Final = re.compile(r"[0-9]{1,18}")


def whole(text: str) -> int | None:
    """The whole number that the text is, of at most 18 decimal digits; None for all else.

    `str.isdigit` is true for texts that `int` does not take: "²", and more than 4,300 digits.
    """
    return int(text) if _WHOLE.fullmatch(text) else None
