"""Waiting for a condition with a deadline."""

import time
from collections.abc import Callable

from tests.cluster.errors import ClusterError


def until(check: Callable[[], bool], seconds: float, what: str, every: float = 0.05) -> None:
    """Ask `check` until it holds; raises ClusterError naming `what` after `seconds`."""
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            raise ClusterError(f"{what}: not within {seconds:.0f} seconds")
        time.sleep(every)
