"""What the proxy can do to a request, and which requests a fault is for."""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

WRITES: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_REVIEWS: Final = "selfsubjectaccessreviews"


@dataclass(frozen=True)
class Seen:
    """One request as the API server reads it; `namespace`, `name` and `subresource` may be empty. `continued`: it asks
    for a further page of a list."""

    method: str
    path: str
    watch: bool
    resource: str
    namespace: str
    name: str
    subresource: str
    body: bytes
    continued: bool = False

    @classmethod
    def of(cls, method: str, path: str, query: Mapping[str, str], body: bytes) -> "Seen":
        """From an HTTP request's line and body."""
        parts = path.strip("/").split("/")
        rest = parts[3:] if parts[0] == "apis" else parts[2:]
        namespace = ""
        if rest[:1] == ["namespaces"] and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        resource, name, subresource = [*rest, "", "", ""][:3]
        watch, continued = query.get("watch") == "true", bool(query.get("continue"))
        return cls(method, path, watch, resource, namespace, name, subresource, body, continued)

    @property
    def write(self) -> bool:
        """Whether it changes an object; a question about rights does not."""
        return self.method in WRITES and self.resource != _REVIEWS


@dataclass(frozen=True)
class Reply:
    """The proxy answers in the API server's place, which never learns of the request."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Passed:
    """The request goes on after `delay` seconds; `change` makes another body of the answer's."""

    delay: float = 0.0
    change: Callable[[bytes], bytes] | None = None


@dataclass(frozen=True)
class Drop:
    """The API server does what it is asked, and nobody learns of it; `dropped` is told the status."""

    dropped: Callable[[int], None] = lambda status: None


@dataclass(frozen=True)
class Stream:
    """What becomes of each line of a watch: another, none (empty), or the end (EOFError)."""

    lines: Callable[[bytes], bytes]


WireFault = Reply | Passed | Drop | Stream
Fault = Callable[[Seen], WireFault | None]
"""The fault of a request, or None where it is not concerned."""

Which = Callable[[Seen], bool]


def always(which: Which, fault: WireFault) -> Fault:
    """The fault for every request of this kind."""
    return lambda seen: fault if which(seen) else None


def times(count: int, which: Which, fault: WireFault) -> Fault:
    """The fault for the first `count` requests of this kind."""
    left: Iterator[int] = iter(range(count))
    return lambda seen: fault if which(seen) and next(left, None) is not None else None


def nth(number: int, which: Which, fault: WireFault) -> Fault:
    """The fault for the `number`-th request of this kind alone, counted from 1."""
    counted = itertools.count(1)
    return lambda seen: fault if which(seen) and next(counted) == number else None


def status(code: int, reason: str, message: str, **headers: str) -> Reply:
    """An error as the API server writes it; `Retry_After` is a header."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason}
    told = {key.replace("_", "-"): value for key, value in headers.items()}
    content = json.dumps({**body, "message": message}).encode()
    return Reply(code, content, {"Content-Type": "application/json", **told})


def gone_event() -> bytes:
    """The line that ends a watch whose place the API server has forgotten."""
    error = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
    return json.dumps({"type": "ERROR", "object": error}).encode() + b"\n"
