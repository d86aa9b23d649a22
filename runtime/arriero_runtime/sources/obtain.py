"""From a model's URI to a folder that the engine can load, whatever the source."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from arriero_api import pod
from arriero_runtime.sources import download, earlier
from arriero_runtime.sources.kinds import MODEL, MODEL_WITH_CODE
from arriero_runtime.sources.locate import Wanted, fetch_located, locate

__all__ = ["Resolved", "Wanted", "resolve"]


class Fetch(Protocol):
    """Waits for the folder of a model that exists; see `download.Report` and `download.Look`."""

    def __call__(self, report: download.Report, look: download.Look = ...) -> Awaitable[Path]:
        """Raises StartError."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A model that exists. `commit` is empty for sources without commits; `fetch` waits for the folder.

    `fetched` says that the folder is there already.
    """

    commit: str
    fetched: bool
    fetch: Fetch


async def resolve(wanted: Wanted, claim_dir: Path = Path(pod.CLAIM_DIR)) -> Resolved:
    """Raises StartError where there is no such model or its source does not let us know."""
    found = await asyncio.to_thread(locate, wanted, MODEL_WITH_CODE if wanted.code else MODEL, claim_dir)

    async def fetch(report: download.Report, look: download.Look = download.look_at_nothing) -> Path:
        folder = await asyncio.to_thread(fetch_located, found, wanted.cache_dir, report, look, wanted.displaces)
        if wanted.displaces and folder.is_relative_to(wanted.cache_dir):
            earlier.used(folder)
        return folder

    return Resolved(found.commit, found.is_there(wanted.cache_dir), fetch)
