"""The engine's processes below this one: none of them outlives its engine, also where vLLM has lost sight of it."""

import contextlib
import multiprocessing
import os
import time
from collections.abc import Collection
from multiprocessing import resource_tracker
from pathlib import Path
from signal import SIGKILL
from typing import Final

from arriero_runtime.supervisor import tree

_KEPT: Final = b"multiprocessing.resource_tracker"
"""Of this process itself: it lives as long, and serves the next engine too."""
_TITLE: Final = b"VLLM::"
"""Of the processes that an engine consists of; others are helpers, which end when their work is done."""
_LOOK_SECONDS: Final = 0.05
_SHARED: Final = "/dev/shm/"
_KINDS: Final = {"psm_": "shared_memory", "sem.mp-": "semaphore"}
"""How Python names the files there, and what its resource tracker calls them."""


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


def shared_by(pids: Collection[int]) -> set[Path]:
    """The files of shared memory that the processes have mapped."""
    found: set[Path] = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
            found |= {Path(line[line.index(_SHARED) :]) for line in lines if f" {_SHARED}" in line}
    return {file for file in found if file.parent == Path(_SHARED) and file.exists()}


def kill() -> None:
    """SIGKILL for all of them."""
    tree.send(running(), SIGKILL)


def end(seconds: float, shared: Collection[Path] = ()) -> list[int]:
    """SIGKILL for all of them, until they are gone, and with them what they share in memory; returns those that are not
    within `seconds`. `shared` are the files of those that have ended already. Blocking."""
    deadline = time.monotonic() + seconds
    shared = set(shared)
    while (left := running()) and time.monotonic() < deadline:
        shared |= shared_by(left)
        tree.send(left, SIGKILL)
        time.sleep(_LOOK_SECONDS)
    if not left:
        _unlink(shared - shared_by([os.getpid()]))
    # Nobody waits for those that came here by the death of their parent.
    own = [child.pid for child in multiprocessing.active_children() if child.pid is not None]
    while tree.reap_but(own) and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
    return left


def _unlink(files: Collection[Path]) -> None:
    """The resource tracker that the engine's processes share with this one would do so at the end of this one alone."""
    for file in files:
        for prefix, kind in _KINDS.items():
            if file.name.startswith(prefix):
                try:
                    file.unlink()
                except FileNotFoundError:
                    continue  # its owner has taken it away after all, and told the tracker
                resource_tracker.unregister(f"/{file.name.removeprefix('sem.')}", kind)


def _is_member(pid: int) -> bool:
    return _command(pid).startswith(_TITLE)


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
