"""From an adapter's entry to a folder that the engine can read for as long as it runs. Blocking.

A hub's adapter lies at a path of its own for each commit: the engine tells the weights of one name apart by the path.
"""

import contextlib
import dataclasses
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from arriero_api import pod, uris
from arriero_api.contract import Failure, Registration
from arriero_runtime.adapters.fit import FILES, refused
from arriero_runtime.failing import StartError
from arriero_runtime.sources import access, download, hub

SHELF: Final = "adapters"
_REASONS: Final = {
    "ModelNotFound": "AdapterNotFound",
    "RevisionNotFound": "AdapterNotFound",
    "Unauthorized": "AdapterUnauthorized",
}
"""Reason for a model → reason for an adapter. What is not here passes: AdapterFetchFailed."""
_PASSING: Final = ("SourceUnreachable", "SourceRateLimited", "DownloadFailed")
"""The hub cannot be asked for now: what it has given before is better than nothing, as after a restart."""
log = logging.getLogger(__name__)


def obtain(entry: Registration, model_uri: str, cache_dir: Path, claim_dir: Path = Path(pod.CLAIM_DIR)) -> Path:
    """The folder of the adapter, complete. `model_uri` is the base model's: a pvc:// adapter lies on its claim.

    Raises StartError (AdapterNotFound, AdapterUnauthorized, AdapterFetchFailed, AdapterInvalid).
    """
    try:
        uri = uris.parse(entry.uri)
    except uris.UriError as error:
        raise refused("AdapterNotFound", str(error)) from error
    if uri.scheme == uris.HF:
        try:
            with access.as_configured():
                return _of_hub(uri.location, entry.revision or "main", cache_dir)
        except StartError as error:
            raise StartError(_as_adapter(error.failure)) from error
    if uri.scheme == uris.PVC and (uri.scheme, uri.location) != _claim(model_uri):
        raise refused("AdapterNotFound", f"it is on the claim {uri.location}, and the model is not")
    place = claim_dir / uri.path if uri.scheme == uris.PVC else Path(uri.path)
    return _there(place, str(uri))


def _claim(model_uri: str) -> tuple[str, str]:
    base = uris.parse(model_uri)
    return base.scheme, base.location


def _of_hub(repository: str, revision: str, cache_dir: Path) -> Path:
    if hub.is_commit(revision):
        place = download.folder(cache_dir, repository, revision, SHELF)
        if place.is_dir():
            return place
    note = cache_dir / SHELF / repository.replace("/", "--") / f"{quote(revision, safe='')}.commit"
    try:
        place = _fetched(repository, revision, cache_dir)
    except StartError as error:
        earlier = _noted(note, repository, cache_dir) if error.failure.reason in _PASSING else None
        if earlier is None:
            raise
        log.warning("%s; serving commit %s, which is there", error.failure.message, earlier.name)
        return earlier
    with contextlib.suppress(OSError):  # a full volume: it is only for later
        note.write_text(place.name)
    return place


def _fetched(repository: str, revision: str, cache_dir: Path) -> Path:
    listed = hub.listing(repository, revision)
    _require(sorted(listed.sizes), f"{repository} at revision {revision}")
    files = tuple((path, listed.sizes[path]) for path in FILES)
    remote = hub.RemoteModel(repository, revision, listed.commit, files, SHELF, listed.digests)
    return download.fetch(remote, cache_dir, lambda percent, words: None)


def _noted(note: Path, repository: str, cache_dir: Path) -> Path | None:
    """What the branch or tag led to when it was last fetched, if that is still there."""
    try:
        place = download.folder(cache_dir, repository, note.read_text(), SHELF)
    except OSError:
        return None
    return place if place.is_dir() else None


def _there(place: Path, shown: str) -> Path:
    try:
        if not place.is_dir():
            raise refused("AdapterNotFound", f"there is no folder {shown}")
        names = [path.name for path in place.iterdir()]
    except OSError as error:
        raise refused("AdapterNotFound", f"the folder {shown} cannot be read: {error.strerror}") from error
    _require(names, shown)
    return place


def _require(names: Sequence[str], where: str) -> None:
    if missing := [name for name in FILES if name not in names]:
        raise refused("AdapterInvalid", f"{where} has no {' and no '.join(missing)}")


def _as_adapter(found: Failure) -> Failure:
    """The same failure as one of an adapter, with that reason's own remedy."""
    if found.reason.startswith("Adapter"):
        return found
    reason = _REASONS.get(found.reason, "AdapterFetchFailed")
    return dataclasses.replace(refused(reason, found.message).failure, details=found.details)
