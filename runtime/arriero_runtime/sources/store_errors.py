"""What went wrong between pod and object store, as a failure.

The library tells all in one text: the status, the store's own code in XML, and what broke the connection.
"""

import re
from collections.abc import Iterable
from typing import Final

from arriero_runtime.failing import CORRECT_URI, StartError, start_error
from arriero_runtime.sources import http_errors
from arriero_runtime.sources.http_errors import Where

_STATUS: Final = re.compile(r"status code: (\d{3})|status: (\d{3}),")
_CODE: Final = re.compile(r"<Code>([A-Za-z]+)</Code>")
_METADATA: Final = re.compile(r"/latest/(?:api/token|meta-data/)|/computeMetadata/v1/|/metadata/identity/")
"""Paths of the metadata servers of Amazon, Google and Microsoft."""
_UNKNOWN_KEYS: Final = (
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "InvalidToken",
    "ExpiredToken",
    "TokenRefreshRequired",
    "AuthenticationFailed",
    "InvalidAuthenticationInfo",
    "AuthorizationHeaderMalformed",
)
_NOTHING_THERE: Final = ("NoSuchBucket", "NoSuchKey", "ContainerNotFound", "BlobNotFound", "ResourceNotFound")
_BUSY: Final = ("SlowDown", "ServerBusy", "TooManyRequests", "RequestLimitExceeded", "rateLimitExceeded")
_SILENT: Final = (("dns error", "its name is not known"), ("kind: Connect", "no connection"), ("Timeout", "time-out"))
_CHANGED: Final = ("PreconditionError", "PreconditionFailed", "ConditionNotMet")


def explain(error: Exception, where: Where) -> StartError:
    """The failure for whatever the library, or the disk, raised."""
    if isinstance(error, StartError):
        return error
    text = f"{type(error).__name__}: {error}"
    code = next(iter(_CODE.findall(text)), "")
    status = next((int(one or other) for one, other in _STATUS.findall(text)), 0)
    found = _of_identity(text, where) or _of_code(code, status, text, where)
    return found or _of_connection(text, where) or _of_status(error, status, where)


def _of_identity(text: str, where: Where) -> StartError | None:
    """What came before the store was asked: who the pod is."""
    if not _METADATA.search(text):
        return None
    words = f"The cloud's metadata server gives the pod no identity to ask {where.shown} with for {where.what}."
    remedy = (
        "Give the pod's service account or the node an identity that may read it, let the network policies reach "
        "169.254.169.254, or name a Secret in credentials."
    )
    return start_error("CredentialsMissing", words, where.phase, remedy=remedy)


def _of_code(code: str, status: int, text: str, where: Where) -> StartError | None:
    """What the store itself says."""
    named = f" ({code})" if code else ""
    if code in _UNKNOWN_KEYS:
        words = f"{where.shown} does not accept the credentials{named} for {where.what}."
        return start_error("CredentialsInvalid", words, where.phase)
    if code in _NOTHING_THERE:
        words = f"{where.shown} does not have {where.what}{named}."
        return start_error("ModelNotFound", words, where.phase, remedy=CORRECT_URI)
    if code in _BUSY or status == 429:
        return http_errors.rate_limited(status or 503, None, where)
    if _any(_CHANGED, text):
        words = f"{where.what} has changed while it is fetched."
        return start_error("ChecksumMismatch", words, where.phase, remedy="The fetch begins anew by itself.")
    return None


def _of_connection(text: str, where: Where) -> StartError | None:
    """What the connection broke on."""
    if "BareRedirect" in text or "incorrectly configured region" in text:
        words = f"{where.what} is in another region than {where.shown} was asked for."
        remedy = "Put the bucket's region into the key region of the credentials' Secret."
        return start_error("ModelNotFound", words, where.phase, remedy=remedy)
    if _any(("InvalidCertificate", "invalid peer certificate", "UnknownIssuer", "CertificateError"), text):
        return start_error("SourceTlsFailed", f"{where.shown} is not trusted for {where.what}.", where.phase)
    if "TunnelUnsuccessful" in text or "ProxyAuthRequired" in text or (where.proxied and "kind: Connect" in text):
        return start_error("ProxyFailed", f"The proxy lets no request through to {where.shown}.", where.phase)
    for mark, words in _SILENT:
        if mark in text:
            said = f"{where.shown} does not answer ({words}) for {where.what}."
            return start_error("SourceUnreachable", said, where.phase)
    if _any(("kind: Decode", "kind: Body", "kind: Interrupted", "IncompleteBody", "IncompleteMessage"), text):
        words = f"The transfer of {where.what} from {where.shown} broke off."
        return start_error("DownloadTruncated", words, where.phase)
    return None


def _of_status(error: Exception, status: int, where: Where) -> StartError:
    if status:
        return http_errors.status(status, {}, where)
    if isinstance(error, FileNotFoundError):
        return http_errors.status(404, {}, where)
    return start_error("DownloadFailed", f"{where.what} from {where.shown}: {http_errors.plain(error)}", where.phase)


def _any(marks: Iterable[str], text: str) -> bool:
    return any(mark in text for mark in marks)
