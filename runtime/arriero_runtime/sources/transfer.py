"""One file from a source to the disk: resumed by bytes, also by a later process; checked before it gets its name."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from arriero_api.contract import Phase
from arriero_runtime.failing import StartError, start_error
from arriero_runtime.sources import disk
from arriero_runtime.sources.inside import PIECE
from arriero_runtime.sources.remote import Remote

_PAUSES_SECONDS: Final = (0.5, 2.0)
"""Before another try, as long as nothing more comes; where something came, it goes on at once."""
_PATIENCE_SECONDS: Final = 15
"""A source that asks to wait no longer than this is waited for."""
_PASSING: Final = ("DownloadFailed", "DownloadTruncated", "SourceUnreachable", "SourceRateLimited", "ProxyFailed")


class Stopped(Exception):
    """Another file has failed: this one is not needed any more."""


class Transfer:
    """Fetches files of `remote` into `folder`, several at once. `stop` ends all that are under way."""

    def __init__(self, remote: Remote, folder: Path) -> None:
        self._remote = remote
        self._folder = folder
        self._stopped = threading.Event()

    def stop(self) -> None:
        """The files under way end soon, with Stopped."""
        self._stopped.set()

    def file(self, path: str, size: int) -> None:
        """The file is whole and in its place, or was already. Raises StartError or Stopped."""
        target = self._folder / path
        if self._is_whole(target, path, size):
            return
        piece = target.with_name(target.name + PIECE)
        piece.parent.mkdir(parents=True, exist_ok=True)
        self._fill(piece, path, size)
        self._check(piece, path)
        piece.rename(target)

    def _is_whole(self, target: Path, path: str, size: int) -> bool:
        """A file that an earlier process has left is looked through again: it may have been damaged since."""
        if not target.is_file():
            return False
        if target.stat().st_size == size:
            with suppress(StartError):
                self._check(target, path)
                return True
        target.unlink(missing_ok=True)
        return False

    def _fill(self, piece: Path, path: str, size: int) -> None:
        if piece.exists() and piece.stat().st_size > size:
            piece.unlink()
        tries = 0
        while True:
            before = piece.stat().st_size if piece.exists() else 0
            if before == size and piece.exists():
                return
            try:
                self._append(piece, path, before, size)
                return
            except StartError as error:
                came = piece.exists() and piece.stat().st_size > before
                tries = 0 if came else tries + 1
                self._pause(error, tries)

    def _append(self, piece: Path, path: str, offset: int, size: int) -> None:
        """What the source has from `offset` on. Raises StartError, DownloadTruncated where that is less than `size`."""
        remote = self._remote
        try:
            with remote.source.open(path, offset) as found, self._sink(piece, found.start) as file:
                written = found.start
                for chunk in found.chunks:
                    if self._stopped.is_set():
                        raise Stopped
                    written += len(chunk)
                    if written > size:
                        break
                    with disk.guarded(remote.what):
                        _write(file, chunk)
        except (StartError, Stopped):
            raise
        except Exception as error:
            raise remote.source.explain(error, remote.what, Phase.DOWNLOADING) from error
        if written > size:
            piece.unlink()
            raise start_error("ChecksumMismatch", f"{path} of {remote.what} is longer than listed.", Phase.DOWNLOADING)
        if written < size:
            words = f"{remote.source.shown} ends {path} of {remote.what} after {written} of {size} bytes."
            raise start_error("DownloadTruncated", words, Phase.DOWNLOADING)

    @contextmanager
    def _sink(self, piece: Path, start: int) -> Iterator[IO[bytes]]:
        """The piece, to write to from `start` on; unbuffered, so that errors of the disk show where they are made."""
        with disk.guarded(self._remote.what):
            file = piece.open("ab" if start else "wb", buffering=0)
        try:
            yield file
        finally:
            file.close()

    def _pause(self, error: StartError, tries: int) -> None:
        """Wait before another try. Raises `error` where none is worth it, and Stopped."""
        failure = error.failure
        if failure.reason not in _PASSING or tries > len(_PAUSES_SECONDS):
            raise error
        asked = int(failure.details.get("retryAfterSeconds", 0))
        if asked > _PATIENCE_SECONDS:
            raise error
        until = time.monotonic() + max(asked, _PAUSES_SECONDS[tries - 1] if tries else 0)
        if self._stopped.wait(max(0.0, until - time.monotonic())):
            raise Stopped

    def _check(self, file: Path, path: str) -> None:
        """A file that is not what the source has is taken away, so that the next try fetches it anew."""
        digest = self._remote.digests.get(path)
        found = digest.of(file) if digest else None
        if digest is not None and found is not None and found != digest:
            file.unlink()
            raise start_error(
                "ChecksumMismatch",
                f"{path} of {self._remote.what} has the {found.shown}, and the source names {digest.value[:12]}….",
                Phase.DOWNLOADING,
            )


def _write(file: IO[bytes], chunk: bytes) -> None:
    """All of it: an unbuffered file may take less at once."""
    left = memoryview(chunk)
    while left:
        left = left[file.write(left) :]
