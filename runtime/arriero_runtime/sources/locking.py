"""One fetch at a time in one cache, also on a volume of several pods."""

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_LOOK_SECONDS: Final = 0.2


@contextmanager
def alone(lock: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock; the kernel takes it off a holder that is killed. `waiting` is called again and again until then,
    and what it raises ends the wait. Raises OSError where the volume cannot be written or locked."""
    with lock.open("w") as handle:
        while not _taken(handle.fileno()):
            waiting()
            time.sleep(_LOOK_SECONDS)
        yield


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
