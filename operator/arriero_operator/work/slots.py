"""Which reconciles may run beside each other, so that slow ones do not hold up the others.

A reconcile that waits costs nothing but memory: one that has run for `SLOW` seconds does not count among the workers
any more, and the more there are of these the less time the next ones have: where many models hang for the first time
at the same moment, others wait for seconds. A key whose last run was slow is taken to be slow again and has its own
bounded share from the start, so that any number of models behind an admission webhook that hangs leaves the workers to
the others.

Where not a few models wait but all, more of them at once only make each wait longer: Services are made one after
another by an API server, whoever asks. So a reconcile that was slow and yet came to its end is a sign to hold back: for
a moment slow ones count as all others do, then fewer and fewer of them.
"""

import math
from collections.abc import Callable
from typing import Final

from arriero_operator.work.keys import Key

SLOW: Final = 1.0
"""Seconds; a reconcile that only works takes a small part of that."""
SHARE: Final = 16
"""How many reconciles of keys that were slow the last time begin beside each other."""
MOST: Final = 256
"""How many slow reconciles run before they count among the workers again: an API server that hangs for all is not to be
asked by all at once."""
HANGS: Final = 10.0
"""Seconds: what takes longer hangs, and says nothing of how busy the API server is. The usual limit of a webhook."""
RECOVERY: Final = 16.0
"""How many more slow reconciles go uncounted with each second after the last sign of a busy API server."""
_MOMENT: Final = 0.001
"""Seconds: at the sign itself no slow one goes uncounted."""


class Slots:
    """Who runs, and in which share."""

    def __init__(self, workers: int, clock: Callable[[], float]) -> None:
        self._workers = workers
        self._clock = clock
        self._busy = -math.inf
        self._quick: set[Key] = set()
        self._long: set[Key] = set()
        self._slow: set[Key] = set()

    def is_slow(self, key: Key) -> bool:
        """Whether the last run of the key was slow."""
        return key in self._slow

    @property
    def free(self) -> bool:
        """Whether a key that is not known to be slow may begin."""
        opens = self.opens
        return opens is not None and opens <= self._clock()

    @property
    def opens(self) -> float | None:
        """From when on one that is not known to be slow may begin though none ends before; None: not by time alone."""
        surplus = len(self._quick) + len(self._long) - self._workers
        if len(self._quick) >= self._workers or surplus >= MOST:
            return None
        return -math.inf if surplus < 0 else self._busy + surplus / RECOVERY + _MOMENT

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
            if key not in self._slow and seconds < HANGS:
                self._busy = self._clock()
            self._slow.add(key)
        else:
            self._slow.discard(key)

    def forget(self, key: Key) -> None:
        """Nothing is left of it: one that comes under its name is not known."""
        self._slow.discard(key)
