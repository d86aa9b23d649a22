"""Models in object stores: list a folder, read its objects. Blocking."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

import obstore

from arriero_api import uris
from arriero_api.contract import Phase
from arriero_api.uris import ModelUri
from arriero_runtime.failing import CORRECT_URI, StartError, start_error
from arriero_runtime.sources import digests, store_errors
from arriero_runtime.sources.access import Access
from arriero_runtime.sources.access import shown as address
from arriero_runtime.sources.digests import Digest, etag
from arriero_runtime.sources.http_errors import Where
from arriero_runtime.sources.inside import stays_inside
from arriero_runtime.sources.kinds import Kind
from arriero_runtime.sources.remote import Piece, Remote, fingerprint, read_small, shelf_of
from arriero_runtime.sources.store_clients import S3_ENDPOINT, Store, client

_CHUNK: Final = 4 * 1024 * 1024
_SMALL: Final = 1024 * 1024
_STORES: Final = {uris.S3: "Amazon S3", uris.GS: "Google Cloud Storage", uris.AZ: "Azure Blob Storage"}


@dataclass(frozen=True, slots=True)
class StoreSource:
    """One folder of an object store. `marks` are entity tags that an object must still have."""

    uri: ModelUri
    access: Access
    store: Store
    marks: Mapping[str, str]

    @property
    def shown(self) -> str:
        return _shown(self.uri, self.access)

    @contextmanager
    def open(self, path: str, offset: int) -> Iterator[Piece]:
        """See `Source`."""
        options: dict[str, Any] = {"range": {"offset": offset}} if offset else {}
        if mark := self.marks.get(path):
            options["if_match"] = mark
        found = obstore.get(self.store, self._key(path), options=options)  # type: ignore[arg-type]
        yield Piece(offset, (bytes(chunk) for chunk in found.stream(min_chunk_size=_CHUNK)))

    def explain(self, error: Exception, what: str, phase: Phase) -> StartError:
        """See `Source`."""
        return store_errors.explain(error, Where(what, self.shown, phase, self.access.proxied))

    def listing(self) -> dict[str, Mapping[str, Any]]:
        """Path below the folder → size and entity tag."""
        prefix = f"{self.uri.path}/" if self.uri.path else ""
        found: dict[str, Mapping[str, Any]] = {}
        for batch in obstore.list(self.store, prefix=self.uri.path or None):
            for one in batch:
                path = str(one["path"]).removeprefix(prefix)
                if stays_inside(path):  # keys may be any text: one that cannot be a file's name is no file of a model
                    found[path] = one
        return found

    def _key(self, path: str) -> str:
        return f"{self.uri.path}/{path}" if self.uri.path else path


def look_up(uri: ModelUri, access: Access, kind: Kind) -> Remote:
    """The model or adapter in a folder. Raises StartError."""
    what = str(uri)
    try:
        source = StoreSource(uri, access, client(uri, access), {})
        listed = source.listing()
    except StartError:
        raise
    except Exception as error:
        where = Where(what, _shown(uri, access), Phase.RESOLVING, access.proxied)
        raise store_errors.explain(error, where) from error
    if not listed:
        raise start_error("ModelNotFound", f"There is nothing at {what}.", Phase.RESOLVING, remedy=CORRECT_URI)
    try:
        known = _digests(source, listed)
    except Exception as error:
        raise source.explain(error, what, Phase.RESOLVING) from error
    needed = kind.chosen(listed, f"The folder {what}")
    marks = {path: str(listed[path]["e_tag"]) for path in needed if listed[path].get("e_tag")}
    told = {path: f"{listed[path]['size']} {marks.get(path) or listed[path]['last_modified']}" for path in needed}
    return Remote(
        what,
        PurePosixPath(kind.shelf, shelf_of(uri), fingerprint(told)),
        tuple((path, int(listed[path]["size"])) for path in needed),
        StoreSource(uri, access, source.store, marks),
        digests={path: known[path] for path in needed if path in known},
    )


def _shown(uri: ModelUri, access: Access) -> str:
    """The store's address, where it has one of its own, without credentials."""
    said = access.value("endpoint") or (os.environ.get(S3_ENDPOINT, "") if uri.scheme == uris.S3 else "")
    return address(said) if said else _STORES[uri.scheme]


def _digests(source: StoreSource, listed: Mapping[str, Mapping[str, Any]]) -> dict[str, Digest]:
    """By the list of sums beside the files, where there is one, else by entity tags."""
    if digests.SUMS in listed:
        try:
            return digests.sums(read_small(source, digests.SUMS).decode())
        except ValueError as error:
            words = f"{digests.SUMS} of {source.uri} cannot be used: {error}."
            raise start_error("ModelIncomplete", words, Phase.RESOLVING) from error
    found = {path: digest for path, one in listed.items() if (digest := etag(one.get("e_tag")))}
    return found if _tags_are_sums(source, found, listed) else {}


def _tags_are_sums(source: StoreSource, found: Mapping[str, Digest], listed: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether this store's entity tags are MD5 sums, by its smallest object: of an encrypted one they are not."""
    smallest = min(found, key=lambda path: int(listed[path]["size"]), default=None)
    if smallest is None or int(listed[smallest]["size"]) > _SMALL:
        return False
    return Digest("md5", digests.of_bytes("md5", read_small(source, smallest))) == found[smallest]
