"""A model that comes as one archive: unpacked beside it, then the archive is removed."""

import gzip
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final

from arriero_api.contract import Phase
from arriero_runtime.failing import StartError, start_error
from arriero_runtime.sources import inside, space
from arriero_runtime.sources.inside import stays_inside
from arriero_runtime.sources.kinds import Kind

_ENDINGS: Final = (".tar", ".tar.gz", ".tgz", ".zip")
_BROKEN: Final = (
    *(tarfile.TarError, gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError, UnicodeError),
    RuntimeError,  # a zip file that needs a password, or is packed in a way that is not known
)


def is_archive(path: str) -> bool:
    """Whether a path names an archive, by its ending."""
    return path.endswith(_ENDINGS)


@dataclass(frozen=True, slots=True)
class _Member:
    path: PurePosixPath
    size: int
    content: IO[bytes]


@dataclass(frozen=True, slots=True)
class Unpack:
    """Puts what is needed of the archive `name` into its folder; `shown` is where it came from."""

    name: str
    kind: Kind
    shown: str

    def __call__(self, folder: Path) -> None:
        """Raises StartError for one that is broken, not whole or does not fit; OSError of the disk."""
        archive = folder / self.name
        try:
            paths = {path: size for path, size in _listed(archive)}
            root = _root(paths, self.kind)
            names = {str(path.relative_to(root)): path for path in paths if path.is_relative_to(root)}
            chosen = self.kind.chosen(names, f"The archive {self.shown}")
            if fault := inside.fault([self.name, *chosen]):
                raise start_error("ModelIncomplete", f"The archive {self.shown} holds {fault}.", Phase.DOWNLOADING)
            wanted = {names[name]: folder / name for name in chosen}
            space.keep_more(folder, sum(paths[path] for path in wanted))
            for member in _members(archive, wanted):
                target = wanted[member.path]
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as file:
                    shutil.copyfileobj(member.content, file, 1024 * 1024)
        except _BROKEN as error:
            archive.unlink(missing_ok=True)
            raise _broken(self.shown, error) from error
        archive.unlink()


def _root(paths: Iterable[PurePosixPath], kind: Kind) -> PurePosixPath:
    """The folder of the archive that is the model: the highest one with what a model needs."""
    folders = sorted({path.parent for path in paths}, key=lambda one: (len(one.parts), str(one)))
    for folder in folders:
        below = [str(path.relative_to(folder)) for path in paths if path.is_relative_to(folder)]
        if not kind.lacks(kind.needed(below)):
            return folder
    return PurePosixPath()


def _listed(archive: Path) -> Iterator[tuple[PurePosixPath, int]]:
    """Plain files alone: links and devices are left out, and so is what would lie elsewhere."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            found = [(entry.filename, entry.file_size) for entry in packed.infolist() if not entry.is_dir()]
    else:
        with tarfile.open(archive, "r:*") as unpacked:
            found = [(entry.name, entry.size) for entry in unpacked if entry.isreg()]
    for name, size in found:
        path = PurePosixPath(name)
        if stays_inside(str(path)):
            yield path, size


def _members(archive: Path, wanted: Iterable[PurePosixPath]) -> Iterator[_Member]:
    left = set(wanted)
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                if PurePosixPath(info.filename) in left:
                    with packed.open(info) as content:
                        yield _Member(PurePosixPath(info.filename), info.file_size, content)
        return
    with tarfile.open(archive, "r:*") as unpacked:
        for entry in unpacked:
            content_of = unpacked.extractfile(entry) if entry.isreg() and PurePosixPath(entry.name) in left else None
            if content_of is not None:
                yield _Member(PurePosixPath(entry.name), entry.size, content_of)


def _broken(shown: str, error: Exception) -> StartError:
    return start_error("ModelIncomplete", f"The archive {shown} cannot be unpacked: {error}.", Phase.DOWNLOADING)
