"""Folders of the cache that appear whole or not at all."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["keep_newest", "once"]


@contextmanager
def once(folder: Path) -> Iterator[Path | None]:
    """Yield a scratch folder to fill, which becomes `folder` at the end; None if `folder` is already there.

    Processes that want the same folder wait for each other. A failure leaves nothing but the lock file.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f".{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.is_dir():
            folder.touch()
            yield None
            return
        partial = folder.with_name(f".{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        try:
            yield partial
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        partial.rename(folder)


def keep_newest(folder: Path, count: int) -> None:
    """Remove the siblings of a folder made by `once`, except the `count` used last."""
    siblings = [path for path in folder.parent.iterdir() if path.is_dir() and not path.name.startswith(".")]
    for old in sorted(siblings, key=lambda path: path.stat().st_mtime, reverse=True)[count:]:
        if old != folder:
            shutil.rmtree(old)
