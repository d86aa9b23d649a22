"""Errors in the form of the OpenAI API: {"error": {message, type, param, code}}. `code` is the HTTP status.

Other APIs have theirs as voices.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from arriero_runtime import wording
from arriero_runtime.engine.protocol import Send
from arriero_runtime.server import error_types

RETRY_SECONDS: Final = 5
INVALID: Final = "invalid_request_error"
UNKNOWN_KEY: Final = "authentication_error"
FORBIDDEN: Final = "permission_error"
TOO_MANY: Final = "rate_limit_error"
OURS: Final = "server_error"


def kind_of(status: int) -> str:
    """The `type` that OpenAI's clients know for a status of 400 or more."""
    if status >= 500:
        return OURS
    return {401: UNKNOWN_KEY, 403: FORBIDDEN, 429: TOO_MANY}.get(status, INVALID)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that refuses a request. `extra` goes beside the message; `headers` are names in lower case."""

    status: int
    kind: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", wording.fit(self.message))

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
    """The form of errors of one API: a whole answer, the data of an event in a stream, and the stream's end mark.
    `name` is the event's where events have names: clients pass over those of any other."""

    body: Callable[[Refusal], str]
    event: Callable[[Refusal], str]
    end: bytes = b""
    name: str = ""

    def last_words(self, refusal: Refusal) -> bytes:
        """What ends a stream."""
        name = f"event: {self.name}\n" if self.name else ""
        return f"{name}data: {self.event(refusal)}\n\n".encode() + self.end


OPENAI: Final = Voice(lambda refusal: refusal.body, lambda refusal: refusal.body, b"data: [DONE]\n\n")
_ERROR: Final = "error"


def _message(refusal: Refusal) -> str:
    """As Anthropic's API has it."""
    kind = error_types.of_messages(refusal.status)
    return json.dumps({"type": "error", "error": {"type": kind, "message": refusal.message}}, ensure_ascii=False)


def _cohere(refusal: Refusal) -> str:
    """As Cohere's API has it, whose routes other clients know too: they find the form of OpenAI's beside it."""
    return json.dumps({"message": refusal.message, **json.loads(refusal.body)}, ensure_ascii=False)


def _response(refusal: Refusal) -> str:
    """As the API of responses has it. Its clients raise what stands in `error`."""
    told = {"type": _ERROR, "code": refusal.kind, "message": refusal.message, "param": None}
    return json.dumps({**told, **json.loads(refusal.body)})


MESSAGES: Final = Voice(_message, _message, name=_ERROR)
RESPONSES: Final = Voice(OPENAI.body, _response, name=_ERROR)
COHERE: Final = Voice(_cohere, _cohere)


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
    return Refusal(404, INVALID, f"There is no {method} {path}.")


def not_for_this_model(path: str) -> Refusal:
    """A route for another kind of model, such as chat for one that makes embeddings."""
    return Refusal(404, INVALID, f"This model cannot answer {path}.")


def wrong_method(path: str, allowed: frozenset[str]) -> Refusal:
    """The route exists for other methods."""
    methods = ", ".join(sorted(allowed))
    return Refusal(405, INVALID, f"{path} takes {methods}.", {"allow": methods})


def unknown_key() -> Refusal:
    """Without a key, or with one that is none."""
    words = "This model needs an API key: send it as the header 'Authorization: Bearer KEY' or 'x-api-key: KEY'."
    return Refusal(401, UNKNOWN_KEY, words, {"www-authenticate": "Bearer"})


def wrong_media_type(path: str) -> Refusal:
    """A body that does not say that it is JSON."""
    return Refusal(415, INVALID, f"{path} takes JSON: send the header 'Content-Type: application/json'.")


def invalid(where: str, words: str) -> Refusal:
    """A value of the body, or all of it where there is no name, that cannot be used."""
    named = where[:100].encode(errors="replace").decode()
    return Refusal(
        400, INVALID, f"{named or 'The body of the request'} {words}.", extra={"param": named} if named else {}
    )


def too_large(limit: int) -> Refusal:
    """The body exceeds the limit; the connection ends, as the rest of the body is not read."""
    return Refusal(
        413,
        INVALID,
        f"The request's body is larger than {limit // 1024 // 1024} MiB.",
        {"connection": "close"},
    )


def no_room() -> Refusal:
    """The server holds as many bodies as it may; the connection ends, as the rest of this one is not read."""
    return Refusal(
        503,
        OURS,
        "The server holds as many large requests as it can; try again.",
        {"retry-after": str(RETRY_SECONDS), "connection": "close"},
    )


def not_ready(phase: str, progress: str) -> Refusal:
    """The model cannot answer yet."""
    words = f"The model is not ready: {phase}" + (f", {progress}" if progress else "") + "."
    return Refusal(503, OURS, words, {"retry-after": str(RETRY_SECONDS)}, {"phase": phase})


def nothing_registered(*, native: bool) -> Refusal:
    """Nobody has registered a model; said as each API says it of an unknown one."""
    words = "No model is registered here; POST /v1/models registers one."
    return Refusal(400 if native else 404, INVALID, words)


def stopping() -> Refusal:
    """This pod is about to stop; another connection finds another pod."""
    return Refusal(
        503,
        OURS,
        "This replica is stopping; try again.",
        {"retry-after": "1", "connection": "close"},
        {"phase": "Draining"},
    )


def timed_out(seconds: float) -> Refusal:
    """The request took longer than the resource allows."""
    return Refusal(
        504,
        OURS,
        f"The request took longer than {seconds:g} seconds (spec.serving.requestTimeoutSeconds) and was ended.",
    )


def cut_off() -> Refusal:
    """The drain's time is over."""
    return Refusal(
        503,
        OURS,
        "The request was ended because this replica stops (spec.serving.drainSeconds is over).",
        {"retry-after": "1", "connection": "close"},
    )


def failed() -> Refusal:
    """The application ended with an error that it did not tell."""
    return Refusal(500, OURS, "The request failed inside the server; its log says why.")


def engine_gone() -> Refusal:
    """The engine has died, or the server can otherwise not go on."""
    return Refusal(
        503,
        OURS,
        "The request was ended because this replica's engine has failed; it starts anew.",
        {"retry-after": str(RETRY_SECONDS), "connection": "close"},
    )
