"""Models that were fetched earlier, for a server that serves one after the other: they stay, so that they come back
quickly, and go where another one needs their room, the one that was served longest ago first. Blocking."""

import contextlib
import logging
import os
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Final

from arriero_runtime.sources.kinds import MODEL, MODEL_WITH_CODE
from arriero_runtime.sources.locking import alone

_BLOCK_BYTES: Final = 512
_PARTIAL: Final = ".partial"
log = logging.getLogger(__name__)


class _Taken(Exception):
    """Somebody fetches into it."""


def used(folder: Path) -> None:
    """It is served from now on."""
    with contextlib.suppress(OSError):  # read-only: then nothing is removed there either
        os.utime(folder)


def make_room(cache_dir: Path, needed: int, without: Collection[Path]) -> bool:
    """Remove as many as it takes to free `needed` bytes, and none where all of them would not do; those `without` stay.
    Whether any was removed."""
    shelves = [cache_dir / kind.shelf for kind in (MODEL, MODEL_WITH_CODE)]
    there = [folder for shelf in shelves for folder in shelf.glob("*/*/") if _lock(folder).exists()]
    sizes = {folder: _size(folder) for folder in there if folder not in without}
    if sum(sizes.values()) < needed:
        return False
    freed = 0
    for folder in sorted(sizes, key=_age):
        if freed < needed and _remove(folder):
            freed += sizes[folder]
            log.info("%s is removed: another model needs its room", folder)
    return freed > 0


def _remove(folder: Path) -> bool:
    target = _target(folder)
    partial = target.with_name(f"{target.name}{_PARTIAL}")
    try:
        with alone(_lock(folder), _give_up):
            if folder == target:
                # What an end in the middle leaves is then no model that looks whole.
                shutil.rmtree(partial, ignore_errors=True)
                target.rename(partial)
            shutil.rmtree(partial)
    except _Taken:
        return False
    except OSError as error:
        log.warning("%s cannot be removed: %s", folder, error)
        return False
    return True


def _target(folder: Path) -> Path:
    return folder.with_name(folder.name.removesuffix(_PARTIAL))


def _lock(folder: Path) -> Path:
    """Beside all that was ever fetched, and beside nothing that people put there."""
    return folder.with_name(f"{_target(folder).name}.lock")


def _give_up() -> None:
    raise _Taken


def _age(folder: Path) -> float:
    with contextlib.suppress(OSError):
        return folder.stat().st_mtime
    return 0.0


def _size(folder: Path) -> int:
    """Bytes on the disk."""
    found = 0
    for file in folder.rglob("*"):
        with contextlib.suppress(OSError):  # it has gone meanwhile
            found += file.lstat().st_blocks * _BLOCK_BYTES
    return found
