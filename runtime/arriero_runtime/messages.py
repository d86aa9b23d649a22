"""What supervisor and server say to each other, one JSON line each. Standard library only.

Up, server to supervisor: `Status`, `Heartbeat` (every second), `MetricsSnapshot` (every five), `Failed`, `Drained`.
Down: `Drain`; `GiveUp`; `Told`, where clients register one model after the other.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

from arriero_api.contract import ContractError, Failure, RuntimeStatus

HEARTBEAT_SECONDS: Final = 1.0
SNAPSHOT_SECONDS: Final = 5.0


class MessageError(ValueError):
    """A line of the other side cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Status:
    """The server's state: sent at every change, and heard by /status and /readyz."""

    status: RuntimeStatus


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Proof of life. `loop_lag_seconds` is how late the event loop ran; the totals count since the engine's start.

    `requests_in_flight` are those whose clients wait, `engine_requests` those that the engine itself holds.
    """

    loop_lag_seconds: float = 0.0
    requests_in_flight: int = 0
    tokens_total: int = 0
    engine_steps_total: int = 0
    engine_requests: int = 0


@dataclass(frozen=True, slots=True)
class MetricsSnapshot:
    """Metrics in the Prometheus text format."""

    text: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The server knows why it cannot serve and is about to end."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Drained:
    """The drain is over: so many requests have ended by themselves, so many were cut off."""

    completed: int
    aborted: int


@dataclass(frozen=True, slots=True)
class Drain:
    """Accept for the endpoint delay, refuse, let requests end, answer `Drained`, stop the engine, exit 0."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The engine is lost, though its processes are there: end each request with an error, answer `Failed`, exit 1."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Told:
    """What the log tells of the engine that has ended, up to the line with LOG_MARK and this number; None: nothing."""

    number: int
    failure: Failure | None


Message = Status | Heartbeat | MetricsSnapshot | Failed | Drained | Drain | GiveUp | Told

DROPPABLE: Final = (Heartbeat, MetricsSnapshot)
"""Of no use when they come late."""
LOG_MARK: Final = "an engine's log ends here:"
"""In the server's log, before a number. What comes behind it is of the next engine."""


def encode(message: Message) -> bytes:
    """One line with its end."""
    body: dict[str, Any]
    match message:
        case Status(status):
            body = {"status": json.loads(status.to_json())}
        case Failed(failure) | GiveUp(failure):
            body = {"failure": json.loads(failure.to_json())}
        case Told(number, failure):
            body = {"number": number, "failure": json.loads(failure.to_json()) if failure else None}
        case _:
            body = asdict(message)
    return json.dumps({"type": type(message).__name__, **body}, ensure_ascii=True).encode() + b"\n"


def _status(body: dict[str, Any]) -> Message:
    return Status(RuntimeStatus.from_json(json.dumps(body["status"])))


def _heartbeat(body: dict[str, Any]) -> Message:
    return Heartbeat(
        float(body["loop_lag_seconds"]),
        int(body["requests_in_flight"]),
        int(body["tokens_total"]),
        int(body["engine_steps_total"]),
        int(body["engine_requests"]),
    )


def _told(body: dict[str, Any]) -> Message:
    failure = body["failure"]
    return Told(int(body["number"]), None if failure is None else Failure.from_dict(failure))


_DECODERS: Final[dict[str, Callable[[dict[str, Any]], Message]]] = {
    "Status": _status,
    "Heartbeat": _heartbeat,
    "MetricsSnapshot": lambda body: MetricsSnapshot(str(body["text"])),
    "Failed": lambda body: Failed(Failure.from_dict(body["failure"])),
    "Drained": lambda body: Drained(int(body["completed"]), int(body["aborted"])),
    "Drain": lambda body: Drain(),
    "GiveUp": lambda body: GiveUp(Failure.from_dict(body["failure"])),
    "Told": _told,
}


def decode(line: bytes) -> Message:
    """Raises MessageError for a line that is no known message."""
    try:
        body = json.loads(line)
        return _DECODERS[body["type"]](body)
    except (ContractError, ValueError, KeyError, TypeError) as error:
        raise MessageError(f"not a message: {error!r}") from error
