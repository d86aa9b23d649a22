"""Adapters in folders of others, copied into the cache: the engine reads its adapters again and again, and dies where
one is gone or has become another meanwhile."""

import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from arriero_runtime.adapters.fit import refused
from arriero_runtime.sources import space
from arriero_runtime.sources.kinds import ADAPTER
from arriero_runtime.sources.meter import Report

_SHELF: Final = "copies"
_BLOCK_BYTES: Final = 4 * 1024 * 1024


def copied(folder: Path, names: Sequence[str], cache_dir: Path, report: Report) -> Path:
    """These files of a folder as they are now, at a path of their own for each content. Blocking; what `report` raises
    ends it.

    Raises StartError (AdapterNotFound where a file cannot be read, AdapterFetchFailed, CacheTooSmall).
    """
    shelf = cache_dir / ADAPTER.shelf / _SHELF
    try:
        shelf.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix="coming-", dir=shelf))
        try:
            fresh.chmod(0o755)
            with space.kept(f"the adapter in {folder}", cache_dir, fresh, _size(folder, names), 0):
                place = shelf / _copy(folder, names, fresh, report)
            return _put(fresh, place)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        raise refused("AdapterFetchFailed", f"it cannot be copied into the cache: {error.strerror}") from error


def _size(folder: Path, names: Sequence[str]) -> int:
    try:
        return sum((folder / name).stat().st_size for name in names)
    except OSError as error:
        raise _unreadable(error) from error


def _copy(folder: Path, names: Sequence[str], fresh: Path, report: Report) -> str:
    """What names the content."""
    found = hashlib.sha256()
    for name in names:
        own = hashlib.sha256()
        with (fresh / name).open("wb") as file:
            for block in _blocks(folder / name):
                report(0, "")
                own.update(block)
                file.write(block)
        found.update(name.encode() + own.digest())
    return found.hexdigest()


def _blocks(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                yield block
    except OSError as error:
        raise _unreadable(error) from error


def _put(fresh: Path, place: Path) -> Path:
    try:
        fresh.rename(place)
    except OSError:
        if not place.is_dir():  # else the same content has come by another way
            raise
    return place


def _unreadable(error: OSError) -> Exception:
    return refused("AdapterNotFound", f"its folder cannot be read: {error.strerror}")
