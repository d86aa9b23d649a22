"""What goes wrong on the way to a source over HTTP, as a failure.

The texts are our own: those of clients may carry signed addresses.
"""

import re
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from httpx2 import (
    ConnectError,
    ConnectTimeout,
    HTTPError,
    HTTPStatusError,
    InvalidURL,
    ProxyError,
    TimeoutException,
    UnsupportedProtocol,
)

from arriero_api.contract import Phase
from arriero_runtime.failing import CORRECT_URI, StartError, start_error

_QUERY: Final = re.compile(r"\?[^\s'\"]*")
_CREDENTIALS: Final = re.compile(r"//[^/\s@]*@|hf_[A-Za-z0-9]{8,}|(Bearer|Basic) \S+")
_PROXY_REFUSES: Final = 407
_NUMBER: Final = re.compile("[0-9]+")
_DIGITS: Final = 9
_LONGEST_SECONDS: Final = 366 * 24 * 3600
"""More is told as this much: nobody waits for it."""


@dataclass(frozen=True, slots=True)
class Where:
    """What was asked for (`what`), of whom (`shown`), when; `proxied`: a forward proxy may be in between."""

    what: str
    shown: str
    phase: Phase
    proxied: bool = False


def explain(error: Exception, where: Where) -> StartError:
    """The failure for whatever a client raised; the statuses of a source that has words of its own aside."""
    if isinstance(error, StartError):
        return error
    for cause in chain(error):
        if isinstance(cause, HTTPStatusError):
            return status(cause.response.status_code, cause.response.headers, where)
        if isinstance(cause, ssl.SSLError):
            return tls(cause, where)
    for cause in chain(error):
        if isinstance(cause, HTTPError | InvalidURL):
            return _broke_off(cause, where)
    return start_error("DownloadFailed", f"{where.what} from {where.shown}: {plain(error)}", where.phase)


def status(code: int, headers: Mapping[str, str], where: Where) -> StartError:
    """The failure for an answer of this status."""
    shown, what, phase = where.shown, where.what, where.phase
    if code == _PROXY_REFUSES:
        return start_error("ProxyFailed", f"The proxy asks for a user and password (407) on the way to {shown}.", phase)
    if code == 401:
        return start_error("CredentialsInvalid", f"{shown} does not accept the credentials (401) for {what}.", phase)
    if code == 403:
        return start_error("Unauthorized", f"{shown} refuses access to {what} (403).", phase)
    if code in (404, 410):
        return start_error("ModelNotFound", f"{shown} does not have {what} ({code}).", phase, remedy=CORRECT_URI)
    if code == 429 or (code == 503 and _wait(headers) is not None):
        return rate_limited(code, _wait(headers), where)
    reason = "SourceUnreachable" if phase is Phase.RESOLVING and code >= 500 else "DownloadFailed"
    return start_error(reason, f"{shown} answers {code} for {what}.", phase)


def rate_limited(code: int, seconds: int | None, where: Where) -> StartError:
    """A source that takes no further request, and may say for how long."""
    details: dict[str, str | int] = {} if seconds is None else {"retryAfterSeconds": seconds}
    again = f"; it asks to wait {seconds} seconds" if details else ""
    words = f"{where.shown} takes no further request ({code}) for {where.what}{again}."
    return start_error("SourceRateLimited", words, where.phase, details=details)


def tls(error: ssl.SSLError, where: Where) -> StartError:
    """No trusted connection, in OpenSSL's words."""
    why = getattr(error, "verify_message", "") or (error.reason or "").replace("_", " ").lower() or "TLS error"
    return start_error("SourceTlsFailed", f"{where.shown} is not trusted for {where.what}: {why}.", where.phase)


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it came from."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def kind(error: BaseException) -> str:
    """What kind of error it is, in words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__).lower()


def plain(error: Exception) -> str:
    """The first line of the client's words, without anything that could be secret."""
    first = next((line for line in str(error).splitlines() if line.strip()), "")
    cleaned = _CREDENTIALS.sub("…", _QUERY.sub("", first))[:300]
    return f"{kind(error)}: {cleaned}" if cleaned else kind(error)


def _broke_off(error: BaseException, where: Where) -> StartError:
    """A transfer that had begun, or a source or proxy that is not there."""
    never_began = isinstance(error, ConnectError | ConnectTimeout | UnsupportedProtocol | InvalidURL)
    if isinstance(error, ProxyError) or (never_began and where.proxied):
        words = f"The proxy lets no request through to {where.shown} ({kind(error)}) for {where.what}."
        return start_error("ProxyFailed", words, where.phase)
    if never_began or where.phase is Phase.RESOLVING:
        words = f"{where.shown} does not answer ({kind(error)}) for {where.what}."
        return start_error("SourceUnreachable", words, where.phase)
    words = f"The transfer of {where.what} from {where.shown} broke off ({kind(error)})."
    reason = "DownloadFailed" if isinstance(error, TimeoutException) else "DownloadTruncated"
    return start_error(reason, words, where.phase)


def _wait(headers: Mapping[str, str]) -> int | None:
    """Seconds that the answer asks to wait: a number or a date; None for what is neither. Whoever writes the header may
    write anything."""
    said = headers.get("Retry-After", "").strip()
    if _NUMBER.fullmatch(said):
        digits = said.lstrip("0")
        return min(int(digits or "0"), _LONGEST_SECONDS) if len(digits) <= _DIGITS else _LONGEST_SECONDS
    try:
        at = parsedate_to_datetime(said)
        seconds = round((at - datetime.now(UTC)).total_seconds()) if at.tzinfo else None
    except (ValueError, OverflowError):
        return None
    return None if seconds is None else min(max(0, seconds), _LONGEST_SECONDS)
