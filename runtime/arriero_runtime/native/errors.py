"""Errors as Llama Stack clients know them."""

from collections.abc import Sequence
from typing import Any, Final

from arriero_runtime.native.text import to_json
from arriero_runtime.server.answers import OPENAI, Refusal, Voice

_PARSER: Final = "--tool-call-parser"


class Refused(Exception):
    """A request that gets an error. `status` is an HTTP status, the text is for people."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    @property
    def refusal(self) -> Refusal:
        return Refusal(self.status, "", str(self))


class BadBody(Exception):
    """A body that has not the form of the request: `errors` are objects with loc, msg and type."""

    def __init__(self, errors: Sequence[dict[str, Any]]) -> None:
        super().__init__("; ".join(str(error.get("msg", "")) for error in errors))
        self.errors = list(errors)

    @property
    def body(self) -> str:
        return to_json({"error": {"detail": {"errors": self.errors}}})


def invalid(field: str, words: str) -> Refused:
    """A value that is well-formed but cannot be used."""
    return Refused(400, f"Invalid value: {field}: {words}")


def unknown_model(name: str) -> Refused:
    """A name that is not served. 400 on these routes, where the OpenAI ones say 404."""
    return Refused(400, f"Invalid value: model '{name}' is not served here; GET /v1/models lists the names.")


def from_engine(status: int, body: Any) -> Refused:
    """An error of the engine's application: its status and its words."""
    error = body.get("error") if isinstance(body, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    words = str(message or "The engine refused the request.")
    if _PARSER in words:
        words += " (no parser of tool calls is known for this model: spec.engine.toolCallParser names one)"
    if status in (400, 404):
        return Refused(400, f"Invalid value: {words}")
    return Refused(status if 400 <= status < 600 else 500, words)


def _detail(refusal: Refusal) -> str:
    return to_json({"detail": refusal.message, **refusal.extra})


def _event(refusal: Refusal) -> str:
    return to_json({"error": {"message": f"{refusal.status}: {refusal.message}"}})


NATIVE: Final = Voice(_detail, _event)
"""{"detail": …}; in a stream {"error": {"message": "STATUS: …"}}; no end mark."""
SILENT: Final = Voice(OPENAI.body, OPENAI.event)
"""As the OpenAI API, for clients that cannot read its end mark."""
