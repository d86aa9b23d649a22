"""The engine's processes below this one: none of them outlives its engine, also where vLLM has lost sight of it."""

import time
from pathlib import Path
from signal import SIGKILL
from typing import Final

from arriero_runtime.supervisor import tree

_KEPT: Final = b"multiprocessing.resource_tracker"
"""Of this process itself: it lives as long, and serves the next engine too."""
_LOOK_SECONDS: Final = 0.05


def running() -> list[int]:
    """Ids of all processes below this one that are of an engine, or of its start."""
    return [pid for pid in tree.descendants() if _KEPT not in _command(pid)]


def kill() -> None:
    """SIGKILL for all of them."""
    tree.send(running(), SIGKILL)


def end(seconds: float) -> list[int]:
    """SIGKILL for all of them, until they are gone; returns those that are not within `seconds`. Blocking."""
    deadline = time.monotonic() + seconds
    while (left := running()) and time.monotonic() < deadline:
        tree.send(left, SIGKILL)
        time.sleep(_LOOK_SECONDS)
    return left


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
