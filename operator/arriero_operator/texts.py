"""Text that many objects have is kept once: a parser makes it anew for each."""

import sys
from typing import Any, Final

_COMMON: Final = 1_000
"""How many values are kept for all objects: those that come first, as most objects look like the first ones."""


class Texts:
    """Makes copies of JSON values that share their text with each other."""

    def __init__(self) -> None:
        self._common: dict[str, str] = {}

    def shared(self, value: Any) -> Any:
        """An equal value."""
        return self._shared(value, {})

    def _shared(self, value: Any, own: dict[str, str]) -> Any:
        """`own` has what this value alone shares within itself, such as its object's name."""
        if isinstance(value, dict):
            return {sys.intern(key): self._shared(part, own) for key, part in value.items()}
        if isinstance(value, list):
            return [self._shared(part, own) for part in value]
        if isinstance(value, str):
            return self._common.get(value) or own.get(value) or self._kept(value, own)
        return value

    def _kept(self, text: str, own: dict[str, str]) -> str:
        place = self._common if len(self._common) < _COMMON else own
        return place.setdefault(text, text)
