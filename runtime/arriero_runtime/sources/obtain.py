"""From a model's URI to a folder that the engine can load, whatever the source."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from arriero_api import pod, uris
from arriero_api.contract import Phase
from arriero_runtime.failing import start_error
from arriero_runtime.sources import download, folders, hub


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to obtain. `pin` is the commit that the revision's first pod reported, empty where none has."""

    uri: str
    revision: str
    pin: str
    cache_dir: Path


@dataclass(frozen=True, slots=True)
class Resolved:
    """A model that exists. `commit` is empty for sources without commits; `fetch` waits for the folder.

    `fetched` says that the folder is there already.
    """

    commit: str
    fetched: bool
    fetch: Callable[[download.Report], Awaitable[Path]]


async def resolve(wanted: Wanted, claim_dir: Path = Path(pod.CLAIM_DIR)) -> Resolved:
    """Raises StartError where there is no such model or its source does not let us know."""
    try:
        uri = uris.parse(wanted.uri)
    except uris.UriError as error:
        raise start_error("ModelNotFound", f"{error}", Phase.RESOLVING) from error
    if uri.scheme == uris.HF:
        return await _of_hub(uri.location, wanted)
    if wanted.revision:
        raise start_error(
            "InvalidArguments",
            f"{uri} has no revisions, but spec.model.revision is {wanted.revision!r}.",
            Phase.RESOLVING,
            remedy="Remove spec.model.revision.",
        )
    place = await asyncio.to_thread(folders.find, uri, claim_dir)
    return _there(place, "")


async def _of_hub(repository: str, wanted: Wanted) -> Resolved:
    revision = wanted.pin or wanted.revision
    if hub.is_commit(revision):
        place = download.folder(wanted.cache_dir, repository, revision)
        if place.is_dir():
            return _there(place, revision)
    model = await asyncio.to_thread(hub.look_up, repository, revision)

    async def fetch(report: download.Report) -> Path:
        return await asyncio.to_thread(download.fetch, model, wanted.cache_dir, report)

    fetched = download.folder(wanted.cache_dir, repository, model.commit).is_dir()
    return Resolved(model.commit, fetched, fetch)


def _there(place: Path, commit: str) -> Resolved:
    async def fetch(_: download.Report) -> Path:
        return place

    return Resolved(commit, True, fetch)
