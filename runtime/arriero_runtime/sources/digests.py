"""What sources tell of the content of files, and whether a file is that."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from arriero_runtime.sources.inside import stays_inside

SUMS: Final = "SHA256SUMS"
"""A file of this name beside the model lists its files, as the command sha256sum writes it."""
_LINE: Final = re.compile(r"([0-9a-fA-F]{64})[ ][ *](?:\./)?(\S.*)")
_MD5: Final = re.compile(r'"?([0-9a-f]{32})"?')
_CHUNK: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Digest:
    """`kind` is sha256, md5 or gitblob (git's id of a small file), `value` its hex digits."""

    kind: str
    value: str

    @property
    def shown(self) -> str:
        """For people."""
        names = {"sha256": "SHA-256", "md5": "MD5", "gitblob": "git object id"}
        return f"{names[self.kind]} {self.value[:12]}…"

    def of(self, file: Path) -> "Digest":
        """The same kind of digest of a file."""
        if self.kind == "gitblob":
            summed = hashlib.sha1(f"blob {file.stat().st_size}\0".encode(), usedforsecurity=False)
        else:
            summed = hashlib.new(self.kind, usedforsecurity=False)
        with file.open("rb") as handle:
            while chunk := handle.read(_CHUNK):
                summed.update(chunk)
        return Digest(self.kind, summed.hexdigest())


def sums(text: str) -> dict[str, Digest]:
    """Path → digest, from the text of a SHA256SUMS file. Raises ValueError for a line of another form."""
    return dict(_lines(text))


def etag(mark: str | None) -> Digest | None:
    """What an object's entity tag tells: the MD5 of one that was put in one piece."""
    found = _MD5.fullmatch(mark or "")
    return Digest("md5", found[1]) if found else None


def _lines(text: str) -> Iterator[tuple[str, Digest]]:
    for line in text.splitlines():
        if not line.strip():
            continue
        found = _LINE.fullmatch(line.rstrip())
        path = PurePosixPath(found[2]) if found else None
        if found is None or path is None or not stays_inside(str(path)):
            raise ValueError(f"{SUMS} has the line {line[:80]!r}")
        yield str(path), Digest("sha256", found[1].lower())


def of_bytes(kind: str, content: bytes) -> str:
    """Hex digits of a digest that hashlib knows."""
    return hashlib.new(kind, content, usedforsecurity=False).hexdigest()
