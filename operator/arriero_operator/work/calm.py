"""Keys that were reconciled a moment ago.

What a reconcile writes comes back as events, and what it sets going (a Deployment, its pods, their start) tells of
itself in many small steps: one more reconcile a moment later sees all of them. What users want (`watching.wishes`) does
not wait for that.
"""

from collections import OrderedDict
from typing import Final

from arriero_operator.work.keys import Key

CALM: Final = 0.5
"""Seconds between two reconciles of a key, where nothing but watches asks for the second one."""


class Calm:
    """Until when watches do not have a key reconciled again. Times are the event loop's."""

    def __init__(self) -> None:
        self._until: OrderedDict[Key, float] = OrderedDict()

    def begin(self, key: Key, now: float) -> None:
        """The key's reconcile has ended."""
        while self._until and next(iter(self._until.values())) <= now:
            self._until.popitem(last=False)
        self._until[key] = now + CALM
        self._until.move_to_end(key)

    def until(self, key: Key) -> float:
        """When it ends, or has ended."""
        return self._until.get(key, 0.0)
