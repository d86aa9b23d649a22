"""Locks between processes, so that two starts or builds never work on the same thing at once."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.progress import say


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold the lock file `path`; waits for another holder and says so, naming `what` it waits for.

    The holder may remove the file: whoever waits for the removed one starts over with a new one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with path.open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say(f"waiting for another process: {what}")
                fcntl.flock(handle, fcntl.LOCK_EX)
            if path.exists() and path.stat().st_ino == os.fstat(handle.fileno()).st_ino:
                yield
                return
