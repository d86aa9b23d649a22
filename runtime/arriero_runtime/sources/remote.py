"""What a source has of one model or adapter, as it lists it at one moment."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

from arriero_api.contract import Phase
from arriero_api.uris import ModelUri
from arriero_runtime.failing import StartError, start_error
from arriero_runtime.sources import inside
from arriero_runtime.sources.digests import Digest

_LONGEST: Final = 120
_SUMMED: Final = 16
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Piece:
    """The bytes of a file from `start` on. `start` is 0 where the source gives whole files only."""

    start: int
    chunks: Iterator[bytes]


class Source(Protocol):
    """One place to fetch from. All may raise what `explain` then understands."""

    @property
    def shown(self) -> str:
        """Where it is, for people: no credentials."""

    def open(self, path: str, offset: int) -> AbstractContextManager[Piece]:
        """The file from `offset` on, or from its start."""

    def explain(self, error: Exception, what: str, phase: Phase) -> StartError:
        """The failure that `error` stands for; `what` was to be fetched."""


@dataclass(frozen=True, slots=True)
class Remote:
    """`files` are the needed ones with their sizes in bytes; `digests` what the source tells of their content.

    `place` is the folder below the cache folder, another one for other content. `commit` is empty where a source has
    none. `finish` is called with the folder when all files are there.

    Raises StartError, ModelIncomplete, where a source names a file or a commit that cannot be written into the model's
    own folder: one that leads elsewhere, one too long, a file in the place of another's folder.
    """

    what: str
    place: PurePosixPath
    files: tuple[tuple[str, int], ...]
    source: Source
    commit: str = ""
    digests: Mapping[str, Digest] = field(default_factory=dict)
    finish: Callable[[Path], None] | None = None

    def __post_init__(self) -> None:
        if fault := inside.fault([str(self.place)]) or inside.fault([path for path, _ in self.files]):
            words = f"{self.source.shown} lists for {self.what} {fault}."
            raise start_error("ModelIncomplete", words, Phase.RESOLVING)

    @property
    def size(self) -> int:
        return sum(size for _, size in self.files)


def shelf_of(uri: ModelUri) -> str:
    """The folder's name for all that is ever fetched of `uri`, legible and legal."""
    if uri.scheme == "hf":
        return uri.location.replace("/", "--")
    text = "--".join([uri.scheme, uri.location.replace(":", "-"), *uri.path.split("/")]).rstrip("-")
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}-{hashlib.sha256(str(uri).encode()).hexdigest()[:_SUMMED]}"


def fingerprint(entries: Mapping[str, object]) -> str:
    """16 hex digits that change with what a source tells of its files: path → size, mark or digest."""
    text = "\n".join(f"{path}\0{told}" for path, told in sorted(entries.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:_SUMMED]


def read_small(source: Source, path: str, limit: int = 8 * _MIB) -> bytes:
    """A small file as a whole. Raises ValueError for one that is larger than `limit` bytes, and as `Source.open`."""
    body = bytearray()
    with source.open(path, 0) as piece:
        for chunk in piece.chunks:
            body += chunk
            if len(body) > limit:
                raise ValueError(f"{path} is larger than {limit // _MIB} MiB")
    return bytes(body)
