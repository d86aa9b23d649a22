"""Fetch a hub model into the cache: resumed by file, complete or not there, never twice at once. Blocking.

The folder SHELF/OWNER--NAME/COMMIT appears when all files are there; until then they gather in COMMIT.partial.
"""

import fcntl
import hashlib
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from huggingface_hub import hf_hub_download

from arriero_api.contract import Phase
from arriero_runtime.failing import StartError, start_error
from arriero_runtime.sources import access, space
from arriero_runtime.sources.hub import RemoteModel
from arriero_runtime.sources.hub_errors import explain

_PARALLEL: Final = 4
_LOOK_SECONDS: Final = 0.5
_RATE_SECONDS: Final = 5.0
Report = Callable[[int, str], None]
"""Called with percent and words."""


def folder(cache_dir: Path, repository: str, commit: str, shelf: str = "models") -> Path:
    """Where the model is once it is complete."""
    return cache_dir / shelf / repository.replace("/", "--") / commit


def fetch(model: RemoteModel, cache_dir: Path, report: Report) -> Path:
    """The folder of the complete model. Raises StartError."""
    target = folder(cache_dir, model.repository, model.commit, model.shelf)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _alone(target.with_name(f"{model.commit}.lock")):
        if target.is_dir():
            return target
        partial = target.with_name(f"{model.commit}.partial")
        _forget_broken_pieces(partial)
        space.require(cache_dir, model.size, _present(model, partial))
        _transfer(model, partial, report)
        shutil.rmtree(partial / ".cache", ignore_errors=True)
        partial.rename(target)
    return target


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One process at a time, also on a volume of several pods; the kernel takes the lock off a dead one."""
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _forget_broken_pieces(partial: Path) -> None:
    """The client gives every try a name of its own: what an ended process left behind only takes room."""
    for piece in partial.glob(".cache/**/*.incomplete"):
        piece.unlink(missing_ok=True)


def _transfer(model: RemoteModel, partial: Path, report: Report) -> None:
    meter = Meter(model.size, report)
    pool = ThreadPoolExecutor(_PARALLEL, thread_name_prefix="fetch")
    try:
        # The largest first: the last one to end is then a small one.
        ordered = sorted(model.files, key=lambda entry: -entry[1])
        running = {pool.submit(_file, model, path, partial) for path, _ in ordered}
        while running:
            ended, running = wait(running, timeout=_LOOK_SECONDS, return_when=FIRST_EXCEPTION)
            _raise_first(ended, model)
            meter.look(_present(model, partial))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _file(model: RemoteModel, path: str, partial: Path) -> None:
    hf_hub_download(
        model.repository,
        path,
        revision=model.commit,
        local_dir=partial,
        endpoint=access.address(),
        token=access.token(),
    )
    if digest := model.digests.get(path):
        _verify(partial / path, digest, f"{model.repository}/{path}")


def _verify(file: Path, digest: str, shown: str) -> None:
    """A file that is not what the hub's commit holds is taken away, so that the next try fetches it anew."""
    with file.open("rb") as handle:
        found = hashlib.file_digest(handle, "sha256").hexdigest()
    if found != digest:
        file.unlink()
        raise start_error(
            "ChecksumMismatch",
            f"{shown} has the SHA-256 {found[:12]}…, and the hub names {digest[:12]}….",
            Phase.DOWNLOADING,
        )


def _raise_first(ended: set[Future[None]], model: RemoteModel) -> None:
    for future in ended:
        error = future.exception()
        if isinstance(error, StartError):
            raise error
        if isinstance(error, Exception):
            raise explain(error, model.repository, model.revision, Phase.DOWNLOADING) from error


def _present(model: RemoteModel, partial: Path) -> int:
    """Bytes that are on disk, finished files and pieces."""
    done = sum(size for path, size in model.files if (partial / path).is_file())
    for piece in partial.glob(".cache/**/*.incomplete"):
        try:
            done += piece.stat().st_size
        except FileNotFoundError:
            continue  # it has just become a finished file
    return min(done, model.size)


class Meter:
    """Turns bytes on disk into percent and words such as "110 of 257 MiB, 25 MiB/s"."""

    def __init__(self, total: int, report: Report, clock: Callable[[], float] = time.monotonic) -> None:
        self._total = total
        self._report = report
        self._clock = clock
        self._most = 0
        self._seen: deque[tuple[float, int]] = deque()

    def look(self, done: int) -> None:
        """A new measurement; the count never goes back, also while a file is moved to its place."""
        self._most = max(self._most, done)
        now = self._clock()
        self._seen.append((now, self._most))
        while now - self._seen[0][0] > _RATE_SECONDS:
            self._seen.popleft()
        since, before = self._seen[0]
        rate = (self._most - before) / (now - since) if now > since else 0.0
        words = f"{space.mib(self._most)} of {space.mib(self._total)} MiB"
        if rate > 0:
            words += f", {rate / (1024 * 1024):.{0 if rate > 10 * 1024 * 1024 else 1}f} MiB/s"
        self._report(self._most * 100 // max(1, self._total), words)
