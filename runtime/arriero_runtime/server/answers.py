"""Errors of our own in the form of the OpenAI API: {"error": {message, type, param, code}}."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from arriero_runtime.engine.protocol import Send

RETRY_SECONDS: Final = 5


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that refuses a request. `extra` goes beside the message; `headers` are names in lower case."""

    status: int
    kind: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> str:
        """JSON, also the data of an error event in a stream."""
        error = {"message": self.message, "type": self.kind, "param": None, "code": self.status, **self.extra}
        return json.dumps({"error": error}, ensure_ascii=False)

    async def send(self, send: Send, voice: "Voice | None" = None) -> None:
        """The whole response, in the form of the OpenAI API or of another."""
        await reply(send, self.status, (voice or OPENAI).body(self), self.headers)


@dataclass(frozen=True, slots=True)
class Voice:
    """The form of errors of one API: a whole answer, the data of an event in a stream, and the stream's end mark."""

    body: Callable[[Refusal], str]
    event: Callable[[Refusal], str]
    end: bytes = b""


OPENAI: Final = Voice(lambda refusal: refusal.body, lambda refusal: refusal.body, b"data: [DONE]\n\n")


async def reply(send: Send, status: int, body: str, headers: Mapping[str, str] | None = None) -> None:
    """A JSON response."""
    data = body.encode()
    pairs = {"content-type": "application/json", "content-length": str(len(data)), **(headers or {})}
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs.items()],
        }
    )
    await send({"type": "http.response.body", "body": data})


def not_found(method: str, path: str) -> Refusal:
    """No such route here, whatever the engine itself may have."""
    return Refusal(404, "NotFoundError", f"There is no {method} {path}.")


def not_for_this_model(path: str) -> Refusal:
    """A route for another kind of model, such as chat for one that makes embeddings."""
    return Refusal(404, "NotFoundError", f"This model cannot answer {path}.")


def wrong_method(path: str, allowed: frozenset[str]) -> Refusal:
    """The route exists for other methods."""
    methods = ", ".join(sorted(allowed))
    return Refusal(405, "BadRequestError", f"{path} takes {methods}.", {"allow": methods})


def too_large(limit: int) -> Refusal:
    """The body exceeds the limit; the connection ends, as the rest of the body is not read."""
    return Refusal(
        413,
        "BadRequestError",
        f"The request's body is larger than {limit // 1024 // 1024} MiB.",
        {"connection": "close"},
    )


def not_ready(phase: str, progress: str) -> Refusal:
    """The model cannot answer yet."""
    words = f"The model is not ready: {phase}" + (f", {progress}" if progress else "") + "."
    return Refusal(503, "ServiceUnavailableError", words, {"retry-after": str(RETRY_SECONDS)}, {"phase": phase})


def stopping() -> Refusal:
    """This pod is about to stop; another connection finds another pod."""
    return Refusal(
        503,
        "ServiceUnavailableError",
        "This replica is stopping; try again.",
        {"retry-after": "1", "connection": "close"},
        {"phase": "Draining"},
    )


def timed_out(seconds: float) -> Refusal:
    """The request took longer than the resource allows."""
    return Refusal(
        504,
        "TimeoutError",
        f"The request took longer than {seconds:g} seconds (spec.serving.requestTimeoutSeconds) and was ended.",
    )


def cut_off() -> Refusal:
    """The drain's time is over."""
    return Refusal(
        503,
        "ServiceUnavailableError",
        "The request was ended because this replica stops (spec.serving.drainSeconds is over).",
        {"retry-after": "1", "connection": "close"},
    )


def failed() -> Refusal:
    """The application ended with an error that it did not tell."""
    return Refusal(500, "InternalServerError", "The request failed inside the server; its log says why.")


def engine_gone() -> Refusal:
    """The engine has died, or the server can otherwise not go on."""
    return Refusal(
        503,
        "ServiceUnavailableError",
        "The request was ended because this replica's engine has failed; it starts anew.",
        {"retry-after": str(RETRY_SECONDS), "connection": "close"},
    )
