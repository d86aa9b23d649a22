"""Repositories: named, with branches that point at commits, each a set of files on this machine's disk."""

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

__all__ = ["Commit", "File", "Repository"]

LARGE_SUFFIXES = {".safetensors", ".bin", ".gguf", ".pt", ".pth"}
LARGE_BYTES = 10 * 1024 * 1024


@dataclass(frozen=True)
class File:
    """A file of a commit. `oid` is git's blob id; of a large file that is the id of its Git LFS pointer.

    A large file is read from `source` when it is asked for, so that must not change; others are kept as `content`.
    """

    path: str
    source: Path
    size: int
    sha256: str
    oid: str
    content: bytes | None

    @property
    def large(self) -> bool:
        """Whether the hub keeps it apart, as Git LFS does."""
        return self.content is None

    def open(self) -> BinaryIO:
        """The content, to read from."""
        return self.source.open("rb") if self.content is None else BytesIO(self.content)

    @property
    def etag(self) -> str:
        """What the hub calls the file's content: the SHA-256 of a large file, git's blob id else."""
        return self.sha256 if self.large else self.oid


@dataclass(frozen=True)
class Commit:
    """An immutable set of files; the same content always has the same id (40 hex digits)."""

    sha: str
    files: dict[str, File]

    @classmethod
    def of_folder(cls, folder: Path) -> "Commit":
        """The files of a folder, hidden ones left out. Raises ValueError when there is none."""
        paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
        if not paths:
            raise ValueError(f"{folder} holds no files: give a model folder")
        files = {str(path.relative_to(folder)): _file(folder, path) for path in paths}
        listing = "".join(f"{name}\0{file.oid}\n" for name, file in files.items())
        return cls(hashlib.sha1(listing.encode()).hexdigest(), files)


@dataclass
class Repository:
    """`name` is owner/model. A gated one shows itself but gives no file without leave; a private one hides."""

    name: str
    gated: bool = False
    private: bool = False
    branches: dict[str, Commit] = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict)

    def move(self, branch: str, commit: Commit) -> None:
        """Point a branch at a commit; the commits before stay available by their ids."""
        self.branches[branch] = commit
        self.commits[commit.sha] = commit

    def at(self, revision: str) -> Commit | None:
        """The commit that a branch or a full commit id names."""
        return self.branches.get(revision) or self.commits.get(revision)


def _file(folder: Path, path: Path) -> File:
    state = path.stat()
    sha256, blob = _digests(path, state.st_mtime_ns, state.st_size)
    large = path.suffix in LARGE_SUFFIXES or state.st_size >= LARGE_BYTES
    if large:
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {state.st_size}\n"
        blob = hashlib.sha1(f"blob {len(pointer)}\0{pointer}".encode()).hexdigest()
    content = None if large else path.read_bytes()
    return File(str(path.relative_to(folder)), path, state.st_size, sha256, blob, content)


@lru_cache(maxsize=4096)
def _digests(path: Path, _mtime: int, size: int) -> tuple[str, str]:
    """SHA-256 and git's blob id of a file; remembered until its time or size changes."""
    sha256, blob = hashlib.sha256(), hashlib.sha1(f"blob {size}\0".encode())
    with path.open("rb") as source:
        while chunk := source.read(1 << 20):
            sha256.update(chunk)
            blob.update(chunk)
    return sha256.hexdigest(), blob.hexdigest()
