"""The engine's processes below this one: none of them outlives its engine, also where vLLM has lost sight of it."""

import time
from collections.abc import Sequence
from pathlib import Path
from signal import SIGKILL
from typing import Final

from arriero_runtime.supervisor import tree

_KEPT: Final = b"multiprocessing.resource_tracker"
"""Of this process itself: it lives as long, and serves the next engine too."""
_TITLE: Final = b"VLLM::"
"""Of the processes that an engine consists of; others are helpers, which end when their work is done."""
_LOOK_SECONDS: Final = 0.05


def running() -> list[int]:
    """Ids of all processes below this one that are of an engine, or of its start."""
    return [pid for pid in tree.descendants() if _KEPT not in _command(pid)]


def members() -> list[int]:
    """Ids of the processes that the engine consists of: the death of one is the engine's."""
    return [pid for pid in running() if _is_member(pid)]


def kill() -> None:
    """SIGKILL for all of them."""
    tree.send(running(), SIGKILL)


def end(seconds: float, members: Sequence[int] = ()) -> list[int]:
    """SIGKILL for all of them, until they are gone; returns those that are not within `seconds`. Blocking.

    A worker whose parent has died is below this process no more: `members` are those that the engine had.
    """
    deadline = time.monotonic() + seconds
    while (left := [*running(), *filter(_is_member, members)]) and time.monotonic() < deadline:
        tree.send(left, SIGKILL)
        time.sleep(_LOOK_SECONDS)
    return left


def _is_member(pid: int) -> bool:
    return _command(pid).startswith(_TITLE)


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
