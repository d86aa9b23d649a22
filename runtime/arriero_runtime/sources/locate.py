"""Where a model or adapter is: in the cache, in place, or at a source that lists it. Blocking."""

import contextlib
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from arriero_api import pod, uris
from arriero_api.contract import Phase
from arriero_api.uris import ModelUri
from arriero_runtime.failing import CORRECT_URI, StartError, start_error
from arriero_runtime.sources import access, download, folders, hub, stores, web
from arriero_runtime.sources.kinds import Kind
from arriero_runtime.sources.remote import Remote, shelf_of

_PASSING: Final = (
    "SourceUnreachable",
    "SourceRateLimited",
    "SourceTlsFailed",
    "ProxyFailed",
    "DownloadFailed",
    "DownloadTruncated",
)
"""The source cannot be asked for now: what it has given before is better than nothing, as after a restart."""
_LATEST: Final = "latest"
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to obtain. `pin` is the commit that the first pod reported, empty where none has; `credentials` names the
    Secret to ask with, empty for none; its files are below `credentials_dir`. `displaces`: other models of the cache
    are not in use, and go where this one needs their room. `code`: the model's own modules too, as they will be run."""

    uri: str
    revision: str
    pin: str
    cache_dir: Path
    credentials: str = ""
    credentials_dir: Path = Path(pod.CREDENTIALS_DIR)
    displaces: bool = False
    code: bool = False


@dataclass(frozen=True, slots=True)
class Located:
    """Either `folder` or `remote` is set. `note` is where to remember what the source had."""

    commit: str
    folder: Path | None = None
    remote: Remote | None = None
    note: Path | None = None

    def is_there(self, cache_dir: Path) -> bool:
        """Whether nothing needs to be fetched."""
        return self.remote is None or (cache_dir / self.remote.place).is_dir()


def parsed(uri: str) -> ModelUri:
    """Raises StartError (ModelNotFound)."""
    try:
        return uris.parse(uri)
    except uris.UriError as error:
        raise start_error("ModelNotFound", f"{error}", Phase.RESOLVING, remedy=CORRECT_URI) from error


def locate(wanted: Wanted, kind: Kind, claim_dir: Path = Path(pod.CLAIM_DIR)) -> Located:
    """Raises StartError where there is no such thing or its source does not let us know."""
    uri = parsed(wanted.uri)
    if uri.scheme != uris.HF and wanted.revision:
        raise start_error(
            "InvalidArguments",
            f"{uri} has no revisions, but spec.model.revision is {wanted.revision!r}.",
            Phase.RESOLVING,
            remedy="Remove spec.model.revision.",
        )
    if uri.scheme not in uris.FETCHED:
        return Located("", folders.find(uri, claim_dir))
    revision = (wanted.pin or wanted.revision or "main") if uri.scheme == uris.HF else _LATEST
    shelf = wanted.cache_dir / kind.shelf / shelf_of(uri)
    if hub.is_commit(revision) and (shelf / revision).is_dir():
        return Located(revision, shelf / revision)
    note = shelf / f"{quote(revision, safe='')}.commit"
    if access.OFFLINE and (earlier := _noted(note)) is not None:
        return _earlier(uri, earlier)
    try:
        remote = _listed(uri, revision, wanted, kind)
    except StartError as error:
        if error.failure.reason not in _PASSING or (earlier := _noted(note)) is None:
            raise
        log.warning("%s; using %s, which is there", error.failure.message, earlier.name)
        return _earlier(uri, earlier)
    return Located(remote.commit, None, remote, note)


def fetch_located(
    found: Located,
    cache_dir: Path,
    report: download.Report,
    look: download.Look = download.look_at_nothing,
    displaces: bool = False,
) -> Path:
    """The complete folder. Raises StartError. See `download.fetch`."""
    if found.remote is None:
        assert found.folder is not None
        return found.folder
    place = download.fetch(found.remote, cache_dir, report, look, displaces)
    if found.note is not None:
        with contextlib.suppress(OSError):  # a full volume: it is only for later
            found.note.write_text(place.name)
    return place


def _listed(uri: ModelUri, revision: str, wanted: Wanted, kind: Kind) -> Remote:
    access.require_online(f"{uri}" + (f" at revision {revision}" if uri.scheme == uris.HF else ""))
    way = access.read(uri.scheme, wanted.credentials, wanted.credentials_dir)
    if uri.scheme == uris.HF:
        return hub.look_up(uri.location, revision, way, kind)
    return web.look_up(uri, way, kind) if uri.scheme == uris.HTTPS else stores.look_up(uri, way, kind)


def _earlier(uri: ModelUri, folder: Path) -> Located:
    return Located(folder.name if uri.scheme == uris.HF else "", folder)


def _noted(note: Path) -> Path | None:
    """What the branch, tag or address led to when it was last fetched, if that is still there."""
    try:
        place = note.with_name(note.read_text().strip() or _LATEST)
    except OSError:
        return None
    return place if place.is_dir() else None
