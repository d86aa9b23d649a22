"""Room in the cache volume for what is fetched, and sizes in words."""

import contextlib
import os
import shutil
import threading
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arriero_api import pod
from arriero_api.contract import Phase
from arriero_runtime.failing import StartError, start_error
from arriero_runtime.sources import earlier

LIMIT_VARIABLE: Final = pod.CACHE_LIMIT_VARIABLE
"""The kubelet evicts a pod whose cache exceeds it, whatever room the node's disk has."""
_MIB: Final = 1024 * 1024
_MARGIN_BYTES: Final = 64 * _MIB
"""Left for what engine and kernel libraries write beside the model."""
_BLOCK_BYTES: Final = 512
_NAMED: Final = 3
"""Most folders that a message lists."""


def mib(size: int) -> int:
    """Whole MiB, rounded up."""
    return -(-size // _MIB)


@dataclass(slots=True)
class _Fetch:
    """Under way in this process. `total` bytes are what its folder will have at most; `displaces`: what was fetched
    earlier goes where it needs the room."""

    what: str
    cache_dir: Path
    total: int
    displaces: bool


_lock: Final = threading.Lock()
_fetches: Final[dict[Path, _Fetch]] = {}
"""By the folder that each fills."""


@contextlib.contextmanager
def kept(what: str, cache_dir: Path, folder: Path, total: int, present: int, displaces: bool = False) -> Iterator[None]:
    """Keep room for `total` bytes in `folder`, of which `present` are there already, until the end of the block: other
    fetches of this process find it taken. `displaces`: models that were fetched earlier go where it needs theirs.
    Raises StartError (CacheTooSmall) where there is none."""
    with _lock:
        wanted = _Fetch(what, cache_dir, total, displaces)
        _require(wanted, folder, total - present)
        _fetches[folder] = wanted
    try:
        yield
    finally:
        with _lock:
            del _fetches[folder]


def keep_more(folder: Path, more: int) -> None:
    """So many bytes more for a folder that room is kept for. Raises StartError (CacheTooSmall)."""
    with _lock:
        fetch = _fetches[folder]
        wider = _Fetch(fetch.what, fetch.cache_dir, fetch.total + more, fetch.displaces)
        _require(wider, folder, more)
        _fetches[folder] = wider


def _require(wanted: _Fetch, folder: Path, more: int) -> None:
    """`more` bytes are what is still to be written."""
    while (lack := _lack(wanted, folder, more)) is not None:
        missing, refusal = lack
        if not wanted.displaces or not earlier.make_room(wanted.cache_dir, missing, {folder, *_fetches}):
            raise refusal


def _lack(wanted: _Fetch, folder: Path, more: int) -> tuple[int, StartError] | None:
    """So many bytes, and how to say it; None where there is room."""
    limit = os.environ.get(LIMIT_VARIABLE, "")
    if limit.isdigit() and int(limit) > 0:
        held = _held(wanted.cache_dir, {folder, *_fetches})
        for at, fetch in _fetches.items():
            if at != folder and fetch.cache_dir == wanted.cache_dir:
                held[_shown(at, fetch.cache_dir)] += fetch.total
        there = int(limit) - held.total()
        if wanted.total + _MARGIN_BYTES > there:
            words = f"its limit (spec.cache.emptyDir.sizeLimit) is {int(limit) // _MIB} MiB{_taken(held)}"
            lack = wanted.total + _MARGIN_BYTES - there
            return lack, _too_small(wanted.what, wanted.total, max(0, there), words)
    free = shutil.disk_usage(wanted.cache_dir).free
    if more + _MARGIN_BYTES > free:
        lack = more + _MARGIN_BYTES - free
        return lack, _too_small(wanted.what, more, free, f"it has {free // _MIB} MiB free")
    return None


def _held(cache_dir: Path, without: Collection[Path]) -> Counter[str]:
    """Bytes on the disk, as the kubelet counts them, by the folders of models, of adapters and of the engine."""
    found: Counter[str] = Counter()
    for parent, folders, names in os.walk(cache_dir):
        here = Path(parent)
        folders[:] = [name for name in folders if here / name not in without]
        for name in names:
            with contextlib.suppress(OSError):  # it has gone meanwhile
                size = (here / name).lstat().st_blocks * _BLOCK_BYTES
                found[_shown(here, cache_dir) or name] += size
    return found


def _shown(folder: Path, cache_dir: Path) -> str:
    return "/".join(folder.relative_to(cache_dir).parts[:2])


def _taken(held: Counter[str]) -> str:
    largest = [f"{name} {mib(size)} MiB" for name, size in held.most_common(_NAMED) if size]
    return f", of which {mib(held.total())} MiB are taken: {', '.join(largest)}" if largest else ""


def _too_small(what: str, needed: int, there: int, room: str) -> StartError:
    return start_error(
        "CacheTooSmall",
        f"The cache volume has no room for {what}, which needs {mib(needed)} MiB (and {mib(_MARGIN_BYTES)} MiB beside "
        f"it): {room}.",
        Phase.DOWNLOADING,
        details={"neededBytes": needed, "availableBytes": there},
    )
