"""From an HTTP answer of the API server to an object or a typed error."""

import json
from collections.abc import Mapping

from arriero_api.numbers import whole
from arriero_operator.kube.errors import (
    AlreadyExists,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    KubeError,
    NotFound,
    Throttled,
    Unavailable,
)
from arriero_operator.kube.protocol import Object

_BY_CODE: Mapping[int, type[KubeError]] = {
    400: Invalid,
    401: Unavailable,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    Expired.CODE: Expired,
    413: Invalid,
    422: Invalid,
}


def error_of(code: int, body: bytes, patience: float = 0.0) -> KubeError:
    """The typed error of an answer that is no success; its message is the API server's.

    `patience` is for how many seconds it asked in the headers.
    """
    status = _status(body)
    message = str(status.get("message") or body[:500].decode(errors="replace") or f"HTTP {code}")
    if code == 409 and status.get("reason") == "AlreadyExists":
        return AlreadyExists(message, code)
    if code == 422 and any(cause.get("field") == "metadata.uid" for cause in _causes(status)):
        # How a patch answers whose uid is that of another object.
        return Conflict(message, code)
    if code == 429:
        return Throttled(message, code, patience)
    fallback = Unavailable if code >= 500 else KubeError
    return _BY_CODE.get(code, fallback)(message, code)


def retry_after(headers: Mapping[str, str]) -> float:
    """What the server asks for in seconds; 0 when it asks for nothing."""
    value = headers.get("Retry-After", "")
    return float(whole(value) or 0)


def _causes(status: Object) -> list[Object]:
    return (status.get("details") or {}).get("causes") or []


def _status(body: bytes) -> Object:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
