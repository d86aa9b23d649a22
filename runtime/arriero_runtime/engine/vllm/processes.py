"""The engine's processes below this one: none of them outlives its engine, also where vLLM has lost sight of it."""

import multiprocessing
import time
from pathlib import Path
from signal import SIGKILL
from typing import Final

from arriero_runtime.supervisor import tree

_KEPT: Final = b"multiprocessing.resource_tracker"
"""Of this process itself: it lives as long, and serves the next engine too."""
_TITLE: Final = b"VLLM::"
"""Of the processes that an engine consists of; others are helpers, which end when their work is done."""
_LOOK_SECONDS: Final = 0.05


def adopt() -> None:
    """From now on a process of the engine whose parent dies is below this one all the same: a worker that loads weights
    learns of that death only when it is done, minutes later. Raises OSError where the kernel refuses."""
    tree.become_subreaper()


def running() -> list[int]:
    """Ids of all processes below this one that are of an engine, or of its start."""
    return [pid for pid in tree.descendants() if _KEPT not in _command(pid)]


def members() -> list[int]:
    """Ids of the processes that the engine consists of: the death of one is the engine's."""
    return [pid for pid in running() if _is_member(pid)]


def kill() -> None:
    """SIGKILL for all of them."""
    tree.send(running(), SIGKILL)


def end(seconds: float) -> list[int]:
    """SIGKILL for all of them, until they are gone; returns those that are not within `seconds`. Blocking."""
    deadline = time.monotonic() + seconds
    while (left := running()) and time.monotonic() < deadline:
        tree.send(left, SIGKILL)
        time.sleep(_LOOK_SECONDS)
    # Nobody waits for those that came here by the death of their parent.
    tree.reap_but([child.pid for child in multiprocessing.active_children() if child.pid is not None])
    return left


def _is_member(pid: int) -> bool:
    return _command(pid).startswith(_TITLE)


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
