"""Text that many objects have is kept once: a parser makes it anew for each."""

import sys
from collections.abc import Iterable
from typing import Any, Final

_COMMON: Final = 1_000
"""How many values are kept for all objects: those that come first, as most objects look like the first ones."""


class Texts:
    """Makes copies of JSON values that share their text with each other."""

    def __init__(self) -> None:
        self._common: dict[str, str] = {}

    def shared(self, value: Any) -> Any:
        """An equal value."""
        return self._shared([value], {})[0]

    def _shared(self, value: Any, own: dict[str, str]) -> Any:
        """Of a list or an object. `own` has what this value alone shares within itself, such as its object's name."""
        pairs: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
        found = []
        for key, part in pairs:
            kind = type(part)
            if kind is str:
                part = self._common.get(part) or own.get(part) or self._kept(part, own)
            elif kind is dict or kind is list:
                part = self._shared(part, own)
            found.append((key, part))
        if isinstance(value, dict):
            return {sys.intern(key): part for key, part in found}
        return [part for _, part in found]

    def _kept(self, text: str, own: dict[str, str]) -> str:
        place = self._common if len(self._common) < _COMMON else own
        return place.setdefault(text, text)
