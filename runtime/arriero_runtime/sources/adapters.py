"""From an adapter's entry to a folder that the engine can read for as long as it runs. Blocking.

What is fetched lies at a path of its own for each content: the engine tells the weights of one name apart by the path.
"""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arriero_api import pod, uris
from arriero_api.contract import Failure, Phase, Registration
from arriero_runtime.adapters.fit import FILES, refused
from arriero_runtime.failing import StartError, failure
from arriero_runtime.sources import locate
from arriero_runtime.sources.copies import copied
from arriero_runtime.sources.kinds import ADAPTER
from arriero_runtime.sources.meter import Report

_REASONS: Final = {
    "ModelNotFound": "AdapterNotFound",
    "RevisionNotFound": "AdapterNotFound",
    "Unauthorized": "AdapterUnauthorized",
    "ModelGated": "AdapterUnauthorized",
    "CredentialsInvalid": "AdapterUnauthorized",
    "CredentialsMissing": "AdapterCredentialsMissing",
}
"""Reason for a model → reason for an adapter. What is not here passes: AdapterFetchFailed."""
_OF_THE_CACHE: Final = ("CacheTooSmall", "CacheUnusable")


@dataclass(frozen=True, slots=True)
class Obtained:
    """A complete adapter. `commit` is empty for sources without commits."""

    folder: Path
    commit: str


def obtain(
    entry: Registration,
    model_uri: str,
    cache_dir: Path,
    claim_dir: Path = Path(pod.CLAIM_DIR),
    credentials_dir: Path = Path(pod.CREDENTIALS_DIR),
    report: Report = lambda percent, words: None,
) -> Obtained:
    """The adapter of an entry. `model_uri` is the base model's: a pvc:// adapter lies on its claim. What `report`
    raises ends the transfer, and the wait for another pod's.

    Raises StartError (AdapterNotFound, AdapterUnauthorized, AdapterCredentialsMissing, AdapterFetchFailed,
    AdapterInvalid).
    """
    try:
        uri = locate.parsed(entry.uri)
        if uri.scheme in uris.FETCHED:
            wanted = locate.Wanted(
                entry.uri, entry.revision, entry.commit, cache_dir, entry.credentials, credentials_dir
            )
            found = locate.locate(wanted, ADAPTER)
            return Obtained(locate.fetch_located(found, cache_dir, report), found.commit)
    except StartError as error:
        raise StartError(_as_adapter(error.failure)) from error
    if uri.scheme == uris.OCI:
        raise refused("AdapterNotFound", "only a model is mounted as an image; use hf, s3, gs, az or https")
    if uri.scheme == uris.PVC and (uri.scheme, uri.location) != _claim(model_uri):
        raise refused("AdapterNotFound", f"it is on the claim {uri.location}, and the model is not")
    place = claim_dir / uri.path if uri.scheme == uris.PVC else Path(uri.path)
    try:
        return Obtained(copied(_there(place, str(uri)), FILES, cache_dir, report), "")
    except StartError as error:
        raise StartError(_as_adapter(error.failure)) from error


def is_fetched(folder: Path, cache_dir: Path) -> bool:
    """Whether `obtain` has put it into the cache, so that it can be fetched, or copied, again."""
    return folder.is_relative_to(cache_dir / ADAPTER.shelf)


def put_aside(folder: Path) -> Path:
    """Take a fetched folder out of its place, in one step; gives what to `remove`. Raises OSError."""
    gone = Path(tempfile.mkdtemp(prefix="gone-", dir=folder.parent))
    try:
        folder.rename(gone / folder.name)
    except OSError:
        gone.rmdir()
        raise
    return gone


def remove(gone: Path) -> None:
    """Raises OSError."""
    shutil.rmtree(gone)


def _claim(model_uri: str) -> tuple[str, str]:
    base = uris.parse(model_uri)
    return base.scheme, base.location


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
    """The same failure as one of an adapter, with that reason's own remedy unless the cache is at fault."""
    if found.reason.startswith("Adapter"):
        return found
    reason = _REASONS.get(found.reason, "AdapterFetchFailed")
    remedy = found.remedy if found.reason in _OF_THE_CACHE else ""
    return failure(reason, found.message, Phase.READY, remedy=remedy, details=found.details)
