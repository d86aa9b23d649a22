"""What went wrong between pod and hub, as a failure that names repository, revision and remedy."""

from typing import Final

from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from arriero_api.contract import Phase
from arriero_runtime.failing import CORRECT_URI, StartError, start_error
from arriero_runtime.sources import http_errors

_INVALID: Final = "Invalid credentials in Authorization header"


def explain(error: Exception, repository: str, where: http_errors.Where, *, asked_as_somebody: bool) -> StartError:
    """The failure for whatever the hub's client raised. `asked_as_somebody`: with a token."""
    for cause in http_errors.chain(error):
        if isinstance(cause, HfHubHTTPError):
            return _answered(cause, repository, where, asked_as_somebody)
        if isinstance(cause, HFValidationError):
            words = f"{repository!r} is not the name of a repository."
            return start_error("ModelNotFound", words, where.phase, remedy=CORRECT_URI)
    return http_errors.explain(error, where)


def _answered(error: HfHubHTTPError, repository: str, where: http_errors.Where, somebody: bool) -> StartError:
    status = error.response.status_code
    if isinstance(error, GatedRepoError):
        who = "has not accepted the terms" if somebody else "needs a token"
        words = f"{where.what} is gated: the account {who} ({status}, {where.shown})."
        return start_error("ModelGated", words if somebody else words.replace("the account", "one"), where.phase)
    if error.response.headers.get("X-Error-Message") == _INVALID:
        return start_error(
            "CredentialsInvalid", f"{where.shown} does not know the token ({status}) for {where.what}.", where.phase
        )
    if isinstance(error, RevisionNotFoundError):
        revision = where.what.rpartition(" ")[2]
        words = f"{where.shown} knows {repository}, but not its revision {revision}."
        return start_error("RevisionNotFound", words, where.phase)
    if _unknown(error, where.phase) or (status == 404 and where.phase is Phase.RESOLVING):
        hidden = ", or does not show it to this pod" if status == 401 else ""
        return start_error("ModelNotFound", f"{where.shown} has no repository {where.what}{hidden}.", where.phase)
    if status == 401:
        return start_error("Unauthorized", f"{where.shown} refuses access to {where.what} (401).", where.phase)
    return http_errors.status(status, error.response.headers, where)


def _unknown(error: HfHubHTTPError, phase: Phase) -> bool:
    """Whether the repository is not there, as far as this pod can see.

    To nobody known, a hub answers 401 for what it does not have, at times without a code; the client reads that so
    only over https. Once the hub has listed the files, it has the repository.
    """
    if error.response.status_code != 401:
        return isinstance(error, RepositoryNotFoundError)
    return phase is Phase.RESOLVING
