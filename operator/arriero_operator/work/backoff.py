"""When a key that has failed is tried again. Times are seconds of the event loop's clock.

A change does not wait for all of the back-off, but for the first step of it, so that a storm of changes hammers nobody,
and for what the error asked for.
"""

from collections.abc import Callable
from typing import Final

from arriero_operator.work.keys import Key

BACKOFF_FIRST: Final = 0.5
BACKOFF_CAP: Final = 300.0


class Backoff:
    """How often each key has failed in a row, and before when nothing runs it. `jitter` is between 0 and 1."""

    def __init__(self, jitter: Callable[[], float]) -> None:
        self._jitter = jitter
        self._failures: dict[Key, int] = {}
        self._not_before: dict[Key, float] = {}

    def until(self, key: Key) -> float:
        """Before when nothing runs the key, whatever changes."""
        return self._not_before.get(key, 0.0)

    def begin(self, key: Key) -> None:
        """The key runs."""
        self._not_before.pop(key, None)

    def over(self, key: Key) -> None:
        """The key has not failed."""
        self._failures.pop(key, None)

    def failed(self, key: Key, now: float, *, asked: float) -> float:
        """The key has failed, with an error that asked for so many seconds: in how many it is tried again."""
        after = max(self._delay(key), asked)
        self._not_before[key] = now + max(asked, min(after, BACKOFF_FIRST))
        return after

    def _delay(self, key: Key) -> float:
        """Doubled with each failure up to the cap, then between half and all of it."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay: float = min(BACKOFF_CAP, BACKOFF_FIRST * 2 ** min(failures, 20))
        return delay * (0.5 + 0.5 * self._jitter())
