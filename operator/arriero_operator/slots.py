"""Which reconciles may run beside each other, so that slow ones do not hold up the others.

A reconcile that waits costs nothing but memory: one that has run for `SLOW` seconds does not count among the workers
any more, and the more there are of these the less time the next ones have: where many models hang for the first time
at the same moment, others wait for seconds. A key whose last run was slow is taken to be slow again and has its own
bounded share from the start, so that any number of models behind an admission webhook that hangs leaves the workers to
the others.
"""

from typing import Final

from arriero_operator.keys import Key

SLOW: Final = 1.0
"""Seconds; a reconcile that only works takes a small part of that."""
SHARE: Final = 16
"""How many reconciles of keys that were slow the last time begin beside each other."""
MOST: Final = 256
"""How many slow reconciles run before they count among the workers again: an API server that hangs for all is not to be
asked by all at once."""


class Slots:
    """Who runs, and in which share."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._quick: set[Key] = set()
        self._long: set[Key] = set()
        self._slow: set[Key] = set()

    def is_slow(self, key: Key) -> bool:
        """Whether the last run of the key was slow."""
        return key in self._slow

    @property
    def free(self) -> bool:
        """Whether a key that is not known to be slow may begin."""
        return len(self._quick) + max(0, len(self._long) - MOST) < self._workers

    @property
    def free_for_slow(self) -> bool:
        """Whether one that is known to be slow may begin."""
        return len(self._long) < SHARE

    @property
    def patience(self) -> float:
        """For how many seconds one that begins now counts among the workers."""
        return SLOW * self._workers / (self._workers + len(self._long))

    def begin(self, key: Key) -> None:
        """The key runs from now on."""
        (self._long if key in self._slow else self._quick).add(key)

    def overstay(self, key: Key) -> None:
        """The key has run for longer than it had the patience of the others."""
        if key in self._quick:
            self._quick.remove(key)
            self._long.add(key)

    def end(self, key: Key, seconds: float) -> None:
        """The key has ended after so long a time."""
        self._quick.discard(key)
        self._long.discard(key)
        if seconds >= SLOW:
            self._slow.add(key)
        else:
            self._slow.discard(key)
