"""What can go wrong between the operator and the API server.

KubeError
├── NotFound        404: the object, its namespace or its kind does not exist
├── AlreadyExists   409 on create: an object of this name exists
├── Conflict        409: another field manager owns a field, or a precondition (uid, resourceVersion) fails
├── Invalid         400 or 422: the API server refuses the content; the text is its own
├── Forbidden       403: no right, or refused by an admission policy or quota (`is_quota`)
├── Throttled       429 that outlasted the retries
├── Expired         410: a place in a list or watch that the API server has forgotten
└── Unavailable     5xx, no connection, no answer in time, 401 that a new token did not mend
"""

from typing import ClassVar, Final

_QUOTA: Final = "exceeded quota"


class KubeError(Exception):
    """An answer of the API server that is not a success.

    `message` is the API server's own text; `code` its HTTP status, 0 where there was no answer.
    """

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class NotFound(KubeError):
    """There is no such object."""


class AlreadyExists(KubeError):
    """An object of this name exists."""


class Conflict(KubeError):
    """A field belongs to another manager, or the object is not the one that was meant."""


class Invalid(KubeError):
    """The content is refused; trying again with the same content is of no use."""


class Forbidden(KubeError):
    """The operator lacks a right, or an admission policy refuses."""

    @property
    def is_quota(self) -> bool:
        """A ResourceQuota of the namespace is used up."""
        return _QUOTA in self.message


class Throttled(KubeError):
    """The API server asked for patience for longer than one request waits.

    `retry_after` is for how many seconds; 0 where it did not say.
    """

    def __init__(self, message: str, code: int = 0, retry_after: float = 0.0) -> None:
        super().__init__(message, code)
        self.retry_after = retry_after


class Expired(KubeError):
    """The API server has forgotten the place in a list or watch: it is listed anew."""

    CODE: ClassVar[int] = 410


class Unavailable(KubeError):
    """The API server does not answer, or answers that it cannot."""
