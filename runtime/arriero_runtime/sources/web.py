"""Models of a plain web server: a folder whose files are known by name, or an archive. Blocking.

A web server lists nothing. A file SHA256SUMS in the folder says what there is; without one the weights are those of
model.safetensors.index.json, or model.safetensors, and the other files those that models usually have.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import quote

from httpx2 import Client, HTTPStatusError, codes

from arriero_api.contract import Phase
from arriero_api.numbers import whole
from arriero_api.uris import ModelUri
from arriero_runtime.failing import CORRECT_URI, StartError, start_error
from arriero_runtime.sources import archives, code, connection, digests, http_errors
from arriero_runtime.sources.access import Access
from arriero_runtime.sources.connection import Way
from arriero_runtime.sources.digests import Digest
from arriero_runtime.sources.http_errors import Where
from arriero_runtime.sources.inside import stays_inside
from arriero_runtime.sources.kinds import Kind
from arriero_runtime.sources.remote import Piece, Remote, fingerprint, read_small, shelf_of

INDEX: Final = "model.safetensors.index.json"
_ABSENT: Final = (403, 404, 410)
"""Servers in front of object stores answer 403 for what they do not have, beside what they have."""


Look = Callable[["WebSource", Kind, str], Remote]


@dataclass(frozen=True, slots=True)
class Head:
    """What a server tells of one file: its size in bytes, and a text that changes with its content."""

    size: int
    mark: str


@dataclass(frozen=True, slots=True)
class WebSource:
    """One folder of a web server. `marks` are entity tags to resume by."""

    uri: ModelUri
    base: str
    access: Access
    way: Way
    marks: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        return f"https://{self.uri.location}"

    @contextmanager
    def open(self, path: str, offset: int) -> Iterator[Piece]:
        """See `Source`."""
        with connection.piece(self.way, self._url(path), offset, self.marks.get(path, "")) as found:
            yield found

    def explain(self, error: Exception, what: str, phase: Phase) -> StartError:
        """See `Source`."""
        return http_errors.explain(error, Where(what, self.shown, phase, self.access.proxied))

    def head(self, client: Client, path: str) -> Head | None:
        """What is told of a file; None where there is none. Raises the client's errors, and StartError."""
        response = client.head(self._url(path))
        page = path.endswith(".json") and "text/html" in response.headers.get("Content-Type", "")
        if response.status_code in _ABSENT or page:
            return None
        response.raise_for_status()
        size = whole(response.headers.get("Content-Length", ""))
        if size is None:
            words = f"{self.shown} does not tell the length of {path} of {self.uri}."
            raise start_error("DownloadFailed", words, Phase.RESOLVING)
        mark = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
        return Head(size, mark)

    def allow(self, client: Client, path: str) -> None:
        """Raises the client's error for a file that the server refuses: where nothing is found, that may be why."""
        response = client.head(self._url(path))
        if response.status_code == codes.FORBIDDEN:
            response.raise_for_status()

    def text(self, path: str) -> str | None:
        """A small file; None where there is none."""
        try:
            return read_small(self, path).decode()
        except HTTPStatusError as error:
            if error.response.status_code in _ABSENT:
                return None
            raise

    def _url(self, path: str) -> str:
        return self.base + quote(path)


def look_up(uri: ModelUri, access: Access, kind: Kind) -> Remote:
    """The model or adapter at an address. Raises StartError."""
    token, user = access.value("token"), access.value("username")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    way = connection.way(access, headers, (user, access.value("password")) if user else None)
    address = f"https://{uri.location}/{quote(uri.path)}"
    if archives.is_archive(uri.path):
        folder, _, name = address.rpartition("/")
        return _asked(WebSource(uri, f"{folder}/", access, way), _archive, kind, name)
    return _asked(WebSource(uri, f"{address}/", access, way), _folder, kind, "")


def _asked(source: WebSource, look: Look, kind: Kind, name: str) -> Remote:
    try:
        return look(source, kind, name)
    except Exception as error:
        raise source.explain(error, str(source.uri), Phase.RESOLVING) from error


def _folder(source: WebSource, kind: Kind, _: str) -> Remote:
    sums = source.text(digests.SUMS)
    known = _sums(source, sums) if sums is not None else {}
    names = kind.needed(known) if known else [*_weights(source, kind), *kind.small, *_code(source, kind)]
    with source.way.client() as client:
        found = {name: head for name in names if (head := source.head(client, name)) is not None}
        if not found:
            for name in names:
                source.allow(client, name)
    if not found:
        words = f"{source.shown} has no file of a model at {source.uri}."
        raise start_error("ModelNotFound", words, Phase.RESOLVING, remedy=CORRECT_URI)
    if absent := [name for name in known if name in names and name not in found]:
        words = f"{digests.SUMS} of {source.uri} lists {absent[0]}, which is not there."
        raise start_error("ModelIncomplete", words, Phase.RESOLVING)
    return _remote(source, kind, {name: found[name] for name in kind.chosen(found, f"The folder {source.uri}")}, known)


def _archive(source: WebSource, kind: Kind, name: str) -> Remote:
    with source.way.client() as client:
        head = source.head(client, name)
        if head is None:
            source.allow(client, name)
    if head is None:
        words = f"{source.shown} does not have {source.uri}."
        raise start_error("ModelNotFound", words, Phase.RESOLVING, remedy=CORRECT_URI)
    sums = source.text(f"{name}.sha256")
    told = sums.split()[0].lower() if sums and sums.split() else ""
    known = {name: Digest("sha256", told)} if len(told) == 64 else {}
    return _remote(source, kind, {name: head}, known, archives.Unpack(name, kind, str(source.uri)))


def _remote(
    source: WebSource,
    kind: Kind,
    found: Mapping[str, Head],
    known: Mapping[str, Digest],
    finish: archives.Unpack | None = None,
) -> Remote:
    told = {name: known.get(name) or f"{head.size} {head.mark}" for name, head in found.items()}
    marks = {name: head.mark for name, head in found.items() if head.mark.startswith('"')}
    return Remote(
        str(source.uri),
        PurePosixPath(kind.shelf, shelf_of(source.uri), fingerprint(told)),
        tuple((name, head.size) for name, head in found.items()),
        replace(source, marks=marks),
        digests={name: digest for name, digest in known.items() if name in found},
        finish=finish,
    )


def _sums(source: WebSource, text: str) -> dict[str, Digest]:
    try:
        return digests.sums(text)
    except ValueError as error:
        words = f"{digests.SUMS} of {source.uri} cannot be used: {error}."
        raise start_error("ModelIncomplete", words, Phase.RESOLVING) from error


def _code(source: WebSource, kind: Kind) -> list[str]:
    return code.modules(source.text) if kind.code else []


def _weights(source: WebSource, kind: Kind) -> list[str]:
    """The files of weights by the index, and the index; else the names of those that are in one piece."""
    text = source.text(INDEX) if INDEX in kind.small else None
    if text is None:
        return list(kind.weights)
    try:
        files = set(json.loads(text)["weight_map"].values())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        words = f"{INDEX} of {source.uri} is not an index of weights."
        raise start_error("ModelIncomplete", words, Phase.RESOLVING) from error
    if outside := sorted(str(name) for name in files if not stays_inside(str(name))):
        words = f"{INDEX} of {source.uri} names weights outside of the model's folder: {outside[0]!r}."
        raise start_error("ModelIncomplete", words, Phase.RESOLVING)
    return sorted(map(str, files))
