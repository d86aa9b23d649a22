"""Files of a folder in one archive, which appears whole or not at all and is never taken on trust. Blocking."""

import contextlib
import gzip
import os
import shutil
import tarfile
import time
import uuid
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

BROKEN: Final = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError)
"""What an archive raises that is damaged, or holds what it should not."""

_ABANDONED: Final = 86_400.0
"""Seconds after which nobody writes a partial archive any more."""
_BLOCK: Final = 2**20


def pack(folder: Path, names: Sequence[str], archive: Path) -> None:
    """The files `names` of `folder` become `archive`, by a rename. Raises OSError."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    for leftover in archive.parent.glob("*.partial"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - leftover.stat().st_mtime > _ABANDONED:
                leftover.unlink()
    partial = archive.with_name(f"{archive.name}.{uuid.uuid4().hex}.partial")
    try:
        with partial.open("wb") as target:
            with tarfile.open(fileobj=target, mode="w:gz", compresslevel=1) as tar:
                for name in names:
                    tar.add(folder / name, name, recursive=False)
            target.flush()
            os.fsync(target.fileno())
        partial.replace(archive)
    finally:
        partial.unlink(missing_ok=True)


def unpack(archive: Path, folder: Path) -> None:
    """Files only, and none outside of `folder`, whoever has written the archive. Raises OSError and BROKEN."""
    with gzip.open(archive) as stream, tarfile.open(fileobj=stream, mode="r:") as tar:
        for member in tar:
            path = PurePosixPath(member.name)
            content = tar.extractfile(member) if member.isfile() else None
            if content is None or path.is_absolute() or ".." in path.parts:
                raise ValueError(f"{member.name!r} does not belong there")
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("wb") as target:
                shutil.copyfileobj(content, target, _BLOCK)
            file.chmod(0o600 | (member.mode & 0o100))
            os.utime(file, (member.mtime, member.mtime))
        # The checksum stands behind the last file.
        while stream.read(_BLOCK):
            pass
