"""The types of errors of Anthropic's API; those of OpenAI's are in `answers`."""

from typing import Final

_OF_STATUS: Final = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}
"""For 503 it is that of the API's own status 529: both say to try again."""


def of_messages(status: int) -> str:
    """The type that its clients know for a status of 400 or more."""
    return _OF_STATUS.get(status, "api_error" if status >= 500 else "invalid_request_error")
