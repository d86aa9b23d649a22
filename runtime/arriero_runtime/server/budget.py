"""How many bytes of requests' bodies the server holds at once, however many clients send large ones, and slowly."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

MIB: Final = 1024 * 1024
SMALL_BYTES: Final = 256 * 1024
"""Of each body, these come from a share of their own: large bodies never keep small ones out."""


class Budget:
    """In bytes, for the first ones of all bodies and for the rest of the large ones."""

    def __init__(self, small: int = 256 * MIB, large: int = 512 * MIB) -> None:
        self._small = small
        self._large = large

    @property
    def left(self) -> tuple[int, int]:
        """Of both shares."""
        return self._small, self._large

    @contextmanager
    def holding(self) -> Iterator["Held"]:
        """For one body, until the end of its request: whoever works on it keeps it."""
        held = Held(self)
        try:
            yield held
        finally:
            self._move(-held.bytes_held, held.bytes_held)

    def _move(self, change: int, before: int) -> bool:
        """Whether there is room for a body of `before` bytes that grows by `change`; it is then taken."""
        small = min(before + change, SMALL_BYTES) - min(before, SMALL_BYTES)
        large = change - small
        if (small > 0 and small > self._small) or (large > 0 and large > self._large):
            return False
        self._small -= small
        self._large -= large
        return True


class Held:
    """What one body holds of a budget."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.bytes_held = 0

    def take(self, more: int) -> bool:
        """So many bytes more; False where there is no room for them."""
        if not self._budget._move(more, self.bytes_held):
            return False
        self.bytes_held += more
        return True
