"""What went wrong between pod and hub, as a failure that names repository, revision and remedy.

The texts are our own: those of the client may carry signed addresses.
"""

import errno
import re
from collections.abc import Iterator
from typing import Final

from httpx2 import ConnectError, ConnectTimeout, HTTPError, UnsupportedProtocol
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from arriero_api.contract import Phase
from arriero_runtime.failing import StartError, start_error
from arriero_runtime.sources import access

_DISK_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_INVALID: Final = "Invalid credentials in Authorization header"
_QUERY: Final = re.compile(r"\?[^\s'\"]*")
_CREDENTIALS: Final = re.compile(r"//[^/\s@]*@|hf_[A-Za-z0-9]{8,}|Bearer \S+")


def explain(error: Exception, repository: str, revision: str, phase: Phase) -> StartError:
    """The failure for whatever the hub's client raised."""
    if isinstance(error, StartError):
        return error
    where = f"{repository} at revision {revision}"
    for cause in _chain(error):
        if isinstance(cause, HfHubHTTPError):
            return _answered(cause, repository, revision, phase)
        if isinstance(cause, HTTPError):
            return _broke_off(cause, where, phase)
        if isinstance(cause, HFValidationError):
            return start_error("ModelNotFound", f"{repository!r} is not the name of a repository.", phase)
        if isinstance(cause, OSError) and cause.errno in _DISK_FULL:
            return start_error("CacheTooSmall", f"The cache volume is full while {where} is fetched.", phase)
    return start_error("DownloadFailed", f"{where} from {access.shown()}: {_plain(error)}", phase)


def _broke_off(error: HTTPError, where: str, phase: Phase) -> StartError:
    """A transfer that had begun, or a hub that is not there."""
    if phase is Phase.DOWNLOADING and not isinstance(error, ConnectError | ConnectTimeout | UnsupportedProtocol):
        words = f"The transfer of {where} from {access.shown()} broke off ({_kind(error)})."
        return start_error("DownloadFailed", words, phase)
    return start_error("SourceUnreachable", f"{access.shown()} does not answer ({_kind(error)}) for {where}.", phase)


def _answered(error: HfHubHTTPError, repository: str, revision: str, phase: Phase) -> StartError:
    status = error.response.status_code
    where = f"{repository} at revision {revision}"
    unknown = _unknown(error, phase)
    if isinstance(error, GatedRepoError) or (status in (401, 403) and not unknown):
        return start_error("Unauthorized", f"{access.shown()} refuses access to {where} ({status}).", phase)
    if isinstance(error, RevisionNotFoundError):
        return start_error(
            "RevisionNotFound", f"{access.shown()} knows {repository}, but not its revision {revision}.", phase
        )
    if unknown or (status == 404 and phase is Phase.RESOLVING):
        hidden = ", or does not show it to this pod" if status == 401 else ""
        return start_error(
            "ModelNotFound", f"{access.shown()} has no repository {repository} (revision {revision}){hidden}.", phase
        )
    if status == 429:
        wait = error.response.headers.get("Retry-After", "")
        details: dict[str, str | int] = {"retryAfterSeconds": int(wait)} if wait.isdigit() else {}
        again = f"; it asks to wait {wait} seconds" if details else ""
        return start_error(
            "SourceRateLimited",
            f"{access.shown()} takes no further request (429) for {where}{again}.",
            phase,
            details=details,
        )
    reason = "SourceUnreachable" if phase is Phase.RESOLVING and status >= 500 else "DownloadFailed"
    return start_error(reason, f"{access.shown()} answers {status} for {where}.", phase)


def _unknown(error: HfHubHTTPError, phase: Phase) -> bool:
    """Whether the repository is not there, as far as this pod can see.

    To nobody known, a hub answers 401 for what it does not have, at times without a code; the client reads that so
    only over https. Once the hub has listed the files, it has the repository.
    """
    if error.response.status_code != 401:
        return isinstance(error, RepositoryNotFoundError)
    refused = isinstance(error, GatedRepoError) or error.response.headers.get("X-Error-Message") == _INVALID
    return phase is Phase.RESOLVING and not refused


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _kind(error: BaseException) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__).lower()


def _plain(error: Exception) -> str:
    """The first line of the client's words, without anything that could be secret."""
    first = next((line for line in str(error).splitlines() if line.strip()), "")
    cleaned = _CREDENTIALS.sub("…", _QUERY.sub("", first))[:300]
    return f"{_kind(error)}: {cleaned}" if cleaned else _kind(error)
