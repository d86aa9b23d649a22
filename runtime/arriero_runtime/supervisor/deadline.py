"""One bound for several waits."""

import time
from dataclasses import dataclass
from typing import Final

_LEAST_SECONDS: Final = 0.5
"""For each wait, also after the end: what is ready anyway is taken along."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """`at` is of the monotonic clock, in seconds."""

    at: float

    def left(self) -> float:
        """Seconds to wait at most, never none."""
        return max(_LEAST_SECONDS, self.at - time.monotonic())

    def at_most(self, seconds: float) -> float:
        """The same, but no more than `seconds`."""
        return min(seconds, self.left())
