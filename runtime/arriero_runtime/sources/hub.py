"""Models of a Hugging Face hub: look up a revision, list what to fetch. Blocking."""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import quote

from huggingface_hub import ModelInfo, hf_hub_url
from huggingface_hub.hf_api import RepoSibling

# The package's public names, which it does not mark as such for type checkers.
from huggingface_hub.utils import (  # type: ignore[attr-defined]
    build_hf_headers,
    hf_raise_for_status,
    validate_repo_id,
)

from arriero_api.contract import Phase
from arriero_runtime.failing import StartError, start_error
from arriero_runtime.sources import access as access_module
from arriero_runtime.sources import connection, hub_errors, hub_heads
from arriero_runtime.sources.access import Access
from arriero_runtime.sources.connection import Way
from arriero_runtime.sources.digests import Digest
from arriero_runtime.sources.http_errors import Where
from arriero_runtime.sources.hub_heads import Head
from arriero_runtime.sources.kinds import Kind
from arriero_runtime.sources.remote import Piece, Remote

_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_PAUSES_SECONDS: Final = (1.0, 3.0)
"""Before the second and third try of a look-up that a passing fault of the hub may have hit."""
_PATIENCE_SECONDS: Final = 15
"""A hub that asks to wait no longer than this is waited for."""
_PASSING: Final = ("SourceUnreachable", "SourceRateLimited", "ProxyFailed", "DownloadFailed")


def is_commit(revision: str) -> bool:
    """A full commit, which always names the same files."""
    return _COMMIT.fullmatch(revision) is not None


@dataclass(frozen=True, slots=True)
class HubSource:
    """One repository at one revision: a commit while files are fetched."""

    repository: str
    revision: str
    access: Access
    way: Way

    @property
    def shown(self) -> str:
        return access_module.shown(self.address)

    @property
    def address(self) -> str:
        """The hub's, maybe with credentials."""
        return access_module.hub_address(self.access)

    @contextmanager
    def open(self, path: str, offset: int) -> Iterator[Piece]:
        """See `Source`."""
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        with self.way.client() as client, client.stream("GET", self._url(path), headers=headers) as response:
            if response.is_error:
                response.read()
            hf_raise_for_status(response)
            yield Piece(offset if response.status_code == 206 else 0, response.iter_raw(1024 * 1024))

    def told(self, listed: Mapping[str, Head], what: str) -> dict[str, Head]:
        """The same, with all sizes: asked for file by file where the list has none. Raises StartError."""
        found = dict(listed)
        lacking = [path for path, head in listed.items() if head.size is None]
        try:
            with self.way.client() as client:
                for path in lacking:
                    found[path] = hub_heads.head(client, self._url(path))
        except Exception as error:
            raise self.explain(error, what, Phase.RESOLVING) from error
        if untold := [path for path in lacking if found[path].size is None]:
            words = f"{self.shown} does not tell the size of {untold[0]} of {what}."
            raise start_error("DownloadFailed", words, Phase.RESOLVING)
        return found

    def _url(self, path: str) -> str:
        return hf_hub_url(self.repository, path, revision=self.revision, endpoint=self.address)

    def explain(self, error: Exception, what: str, phase: Phase) -> StartError:
        """See `Source`."""
        where = Where(what, self.shown, phase, self.access.proxied)
        somebody = bool(access_module.hub_token(self.access))
        return hub_errors.explain(error, self.repository, where, asked_as_somebody=somebody)

    def info(self) -> ModelInfo:
        """The files of the revision. Raises the client's errors."""
        validate_repo_id(self.repository)
        path = f"/api/models/{self.repository}/revision/{quote(self.revision, safe='')}"
        with self.way.client() as client:
            response = client.get(self.address + path, params={"blobs": "true"})
        hf_raise_for_status(response)
        return ModelInfo(**response.json())  # type: ignore[no-untyped-call]


def look_up(repository: str, revision: str, access: Access, kind: Kind) -> Remote:
    """What the hub has at a branch, tag or commit. Raises StartError."""
    what = f"{repository} at revision {revision}"
    token = access_module.hub_token(access)
    way = connection.way(access, build_hf_headers(token=token, library_name="arriero"))
    source = HubSource(repository, revision, access, way)
    info = _info(source, what)
    if info.sha is None:
        raise start_error("DownloadFailed", f"{source.shown} names no commit for {what}.", Phase.RESOLVING)
    listed = {entry.rfilename: _listed(entry) for entry in info.siblings or []}
    source = HubSource(repository, info.sha, access, way)
    found = source.told({path: listed[path] for path in kind.chosen(listed, f"The repository {what}")}, what)
    return Remote(
        what,
        PurePosixPath(kind.shelf, repository.replace("/", "--"), info.sha),
        tuple((path, head.size) for path, head in found.items() if head.size is not None),
        source,
        info.sha,
        {path: head.digest for path, head in found.items() if head.digest is not None},
    )


def _listed(entry: RepoSibling) -> Head:
    if entry.lfs:
        return Head(entry.size if entry.size is not None else entry.lfs.size, Digest("sha256", entry.lfs.sha256))
    return Head(entry.size, Digest("gitblob", entry.blob_id) if entry.blob_id else None)


def _info(source: HubSource, what: str) -> ModelInfo:
    for pause in (*_PAUSES_SECONDS, None):
        try:
            return source.info()
        except Exception as error:
            found = source.explain(error, what, Phase.RESOLVING)
            wait = int(found.failure.details.get("retryAfterSeconds", 0))
            if pause is None or found.failure.reason not in _PASSING or wait > _PATIENCE_SECONDS:
                raise found from error
            time.sleep(max(pause, wait))
    raise AssertionError("the last try raises or returns")
