"""Models of a Hugging Face hub: look up a revision, list what to fetch. Blocking."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from huggingface_hub import HfApi, ModelInfo
from huggingface_hub.errors import HfHubHTTPError

from arriero_api.contract import Phase
from arriero_runtime.failing import start_error
from arriero_runtime.sources import access, files
from arriero_runtime.sources.hub_errors import explain

_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_TIMEOUT_SECONDS: Final = 10
_PAUSES_SECONDS: Final = (1.0, 3.0)
"""Before the second and third try of a look-up that a passing fault of the hub may have hit."""


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A model as the hub lists it at one commit. `files` are the needed ones with their sizes in bytes.

    `shelf` is the folder of the cache that it goes to: a repository may hold a model and an adapter too. `digests` has
    the SHA-256 of each file that the hub tells it of: those that are stored as large files, so all weights.
    """

    repository: str
    revision: str
    commit: str
    files: tuple[tuple[str, int], ...]
    shelf: str = "models"
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return sum(size for _, size in self.files)


def is_commit(revision: str) -> bool:
    """A full commit, which always names the same files."""
    return _COMMIT.fullmatch(revision) is not None


def look_up(repository: str, revision: str) -> RemoteModel:
    """The model at a branch, tag or commit (empty: the main branch). Raises StartError."""
    wanted = revision or "main"
    listed = listing(repository, wanted)
    needed = tuple((path, listed.sizes[path]) for path in files.needed(listed.sizes))
    if missing := files.lacks(path for path, _ in needed):
        raise start_error(
            "ModelIncomplete",
            f"The repository {repository} has no {missing} at revision {wanted}.",
            Phase.RESOLVING,
            remedy="Use a repository that holds the model in the transformers format.",
        )
    return RemoteModel(repository, wanted, listed.commit, needed, digests=listed.digests)


@dataclass(frozen=True, slots=True)
class Listing:
    """The commit of a branch, tag or commit, the sizes of its files in bytes, and the SHA-256 of the large ones."""

    commit: str
    sizes: Mapping[str, int]
    digests: Mapping[str, str]


def listing(repository: str, revision: str) -> Listing:
    """What the hub has at a branch, tag or commit. Raises StartError."""
    info = _model_info(repository, revision)
    if info.sha is None:
        raise start_error("DownloadFailed", f"The hub names no commit for {repository}@{revision}.", Phase.RESOLVING)
    entries = info.siblings or []
    return Listing(
        info.sha,
        {entry.rfilename: entry.size or 0 for entry in entries},
        {entry.rfilename: entry.lfs.sha256 for entry in entries if entry.lfs},
    )


def _model_info(repository: str, revision: str) -> ModelInfo:
    api = HfApi(endpoint=access.address(), token=access.token())
    for pause in (*_PAUSES_SECONDS, None):
        try:
            return api.model_info(repository, revision=revision, files_metadata=True, timeout=_TIMEOUT_SECONDS)
        except Exception as error:
            if pause is None or not _passing(error):
                raise explain(error, repository, revision, Phase.RESOLVING) from error
            time.sleep(pause)
    raise AssertionError("the last try raises or returns")


def _passing(error: Exception) -> bool:
    if isinstance(error, HfHubHTTPError):
        return error.response.status_code >= 500
    return True
