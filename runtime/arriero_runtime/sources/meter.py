"""How far a fetch has come, in percent and words."""

import time
from collections import deque
from collections.abc import Callable
from typing import Final

from arriero_runtime.sources import space

_RATE_SECONDS: Final = 5.0
Report = Callable[[int, str], None]
"""Called with percent and words, each half second; what it raises ends the transfer."""


class Fetched:
    """Bytes of models in all, since this process began."""

    def __init__(self) -> None:
        self.bytes = 0


FETCHED: Final = Fetched()


class Meter:
    """Turns bytes on disk into percent and words such as "110 of 257 MiB, 25 MiB/s"."""

    def __init__(self, total: int, report: Report, clock: Callable[[], float] = time.monotonic) -> None:
        self._total = total
        self._report = report
        self._clock = clock
        self._most = 0
        self._seen: deque[tuple[float, int]] = deque()

    def look(self, done: int, note: str = "", *, ours: bool = True) -> None:
        """A new measurement; the count never goes back, also while a file is moved to its place. `note` goes first.
        `ours`: this process has fetched what came since the last one."""
        if ours:
            FETCHED.bytes += max(0, done - self._most)
        self._most = max(self._most, done)
        now = self._clock()
        self._seen.append((now, self._most))
        while now - self._seen[0][0] > _RATE_SECONDS:
            self._seen.popleft()
        since, before = self._seen[0]
        rate = (self._most - before) / (now - since) if now > since else 0.0
        words = f"{note}{space.mib(self._most)} of {space.mib(self._total)} MiB"
        if rate > 0:
            words += f", {rate / (1024 * 1024):.{0 if rate > 10 * 1024 * 1024 else 1}f} MiB/s"
        self._report(self._most * 100 // max(1, self._total), words)
