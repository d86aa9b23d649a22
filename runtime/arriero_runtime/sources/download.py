"""Fetch what a source lists into the cache: resumed by bytes, complete or not there, never twice at once. Blocking.

The folder appears when all files are there; until then they gather in FOLDER.partial.
"""

import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Final

from arriero_api.contract import Phase
from arriero_runtime.failing import StartError
from arriero_runtime.sources import disk, space
from arriero_runtime.sources.files import is_weights
from arriero_runtime.sources.inside import PIECE
from arriero_runtime.sources.locking import alone
from arriero_runtime.sources.meter import Meter, Report
from arriero_runtime.sources.remote import Remote
from arriero_runtime.sources.transfer import Stopped, Transfer

__all__ = ["Look", "Report", "fetch", "folder", "look_at_nothing"]

_PARALLEL: Final = 8
_LOOK_SECONDS: Final = 0.5
Look = Callable[[Path], None]
"""Called with a folder that has everything but the weights, before they are fetched; what it raises ends the fetch."""


def look_at_nothing(folder: Path) -> None:
    """The `Look` of those who have no question."""


def folder(cache_dir: Path, repository: str, commit: str, shelf: str = "models") -> Path:
    """Where a hub's model is once it is complete."""
    return cache_dir / shelf / repository.replace("/", "--") / commit


def fetch(
    remote: Remote, cache_dir: Path, report: Report, look: Look = look_at_nothing, displaces: bool = False
) -> Path:
    """The complete folder. Raises StartError. `look` is left out where the model is there already; `displaces`: other
    models go from the cache where this one needs their room."""
    target = cache_dir / remote.place
    partial = target.with_name(f"{target.name}.partial")
    meter = Meter(remote.size, report)

    def waiting() -> None:
        meter.look(_present(remote, partial), "another pod fetches it: ", ours=False)

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with alone(target.with_name(f"{target.name}.lock"), waiting):
            if target.is_dir():
                return target
            partial.mkdir(exist_ok=True)
            there = _present(remote, partial)
            meter.look(there, ours=False)
            with space.kept(remote.what, cache_dir, partial, remote.size, there, displaces):
                _transfer(remote, [entry for entry in remote.files if not is_weights(entry[0])], partial, meter)
                look(partial)
                _transfer(remote, [entry for entry in remote.files if is_weights(entry[0])], partial, meter)
                shutil.rmtree(partial / ".cache", ignore_errors=True)
                if remote.finish is not None:
                    remote.finish(partial)
            partial.rename(target)
    except OSError as error:
        raise disk.explain(error, remote.what) from error
    return target


def _transfer(remote: Remote, files: Sequence[tuple[str, int]], partial: Path, meter: Meter) -> None:
    transfer = Transfer(remote, partial)
    pool = ThreadPoolExecutor(_PARALLEL, thread_name_prefix="fetch")
    try:
        # The largest first: the last one to end is then a small one.
        ordered = sorted(files, key=lambda entry: -entry[1])
        running = {pool.submit(transfer.file, path, size) for path, size in ordered}
        while running:
            ended, running = wait(running, timeout=_LOOK_SECONDS, return_when=FIRST_EXCEPTION)
            _raise_first(ended, remote)
            meter.look(_present(remote, partial))
    finally:
        # Also waits: a thread that still writes would do so into what the next try has.
        transfer.stop()
        pool.shutdown(wait=True, cancel_futures=True)


def _raise_first(ended: set[Future[None]], remote: Remote) -> None:
    """The first failure that is one of its own."""
    for future in ended:
        error = future.exception()
        if isinstance(error, StartError | OSError):
            raise error
        if isinstance(error, Exception) and not isinstance(error, Stopped):
            raise remote.source.explain(error, remote.what, Phase.DOWNLOADING) from error


def _present(remote: Remote, partial: Path) -> int:
    """Bytes that are on disk, finished files and pieces."""
    done = 0
    for path, size in remote.files:
        if (partial / path).is_file():
            done += size
            continue
        try:
            done += (partial / f"{path}{PIECE}").stat().st_size
        except OSError:
            continue
    return min(done, remote.size)
