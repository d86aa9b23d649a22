"""The processes below this one: none of them outlives it."""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

_PR_SET_CHILD_SUBREAPER: Final = 36
_PROC: Final = Path("/proc")


def become_subreaper() -> None:
    """Orphans of this process's descendants become its children, so that it finds and reaps them.

    Raises OSError where the kernel refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), "prctl(PR_SET_CHILD_SUBREAPER)")


def descendants(root: int | None = None) -> list[int]:
    """Process ids of all living descendants of `root` (this process where None), children first."""
    children: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and (parent := _parent(entry)) is not None:
            children.setdefault(parent, []).append(int(entry.name))
    found: list[int] = []
    waiting = [os.getpid() if root is None else root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def lives(pid: int) -> bool:
    """Not so for a process that only waits to be reaped."""
    return _parent(_PROC / str(pid)) is not None


def _parent(entry: Path) -> int | None:
    """The parent of a living process; None for one that has gone or only waits to be reaped."""
    state, parent = _stat(entry)
    return None if state in "ZX" else parent


def _stat(entry: Path) -> tuple[str, int]:
    """State and parent of a process; X and 0 for one that has gone."""
    try:
        state, parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
    except (OSError, ValueError):
        return "X", 0
    return state, int(parent)


def send(pids: list[int], number: signal.Signals) -> None:
    """Signal processes; those that have gone meanwhile are passed over."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def reap() -> dict[int, int]:
    """Wait status of every child that has ended, by process id. Does not wait."""
    ended = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            ended[pid] = status
    return ended


def reap_but(own: Collection[int]) -> list[int]:
    """Reap the children that have ended, without those for which others of this process wait. Does not wait.

    Returns those that cannot be reaped yet: threads of theirs are still on their way out.
    """
    left = []
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and _stat(entry) == ("Z", os.getpid()) and int(entry.name) not in own:
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(int(entry.name), os.WNOHANG) == (0, 0):
                    left.append(int(entry.name))
    return left


def kill_all(seconds: float, ended: Callable[[dict[int, int]], None]) -> list[int]:
    """Kill every descendant, those that appear meanwhile too, and reap them; `ended` is told what was reaped.

    Returns those that are still there after `seconds` (a process in the kernel's uninterruptible sleep).
    """
    deadline = time.monotonic() + seconds
    while True:
        ended(reap())
        left = descendants()
        if not left:
            ended(reap())
            return []
        if time.monotonic() > deadline:
            return left
        send(left, signal.SIGKILL)
        time.sleep(0.01)
