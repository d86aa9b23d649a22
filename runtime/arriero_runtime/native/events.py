"""The engine's server-sent events, taken apart and translated."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from arriero_runtime.native.errors import Refused, from_engine
from arriero_runtime.native.text import decoded

_DATA: Final = b"data:"
END: Final = b"\n\n"
"""Of an event."""


class Translator(Protocol):
    """From chunks of the one form to chunks of the other."""

    def feed(self, chunk: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The chunks for one chunk of the engine's."""

    def is_text(self, chunk: Mapping[str, Any]) -> bool:
        """Whether a chunk that was fed holds new text and nothing else, and all of that text was given at once."""

    def end(self, *, complete: bool) -> list[dict[str, Any]]:
        """The last chunks; `complete` tells that the engine has said so. Raises Refused for an answer broken off."""


class Events:
    """The engine's stream, translated as its bytes arrive. `error` is what ended it before its time, `last` its last
    chunk."""

    def __init__(self, translator: Translator) -> None:
        self._translator = translator
        self._rest = b""
        self.last: dict[str, Any] = {}
        self.over = False
        self.error: Refused | None = None

    def split(self, data: bytes) -> list[bytes]:
        """The events that these bytes complete; they need not end where an event does. None once it is over."""
        *events, self._rest = (self._rest + data).split(END)
        return [] if self.over else events

    @property
    def between(self) -> bool:
        """Whether the bytes that have come so far end with an event, and more may come."""
        return not self._rest and not self.over

    def take(self, data: bytes) -> list[dict[str, Any]]:
        """The chunks for some bytes."""
        return [chunk for event in self.split(data) for chunk in self.translated(event)]

    def translated(self, event: bytes) -> list[dict[str, Any]]:
        """The chunks for one event; none for a comment, or once it is over."""
        if self.over or not event.startswith(_DATA):
            return []
        return self._guarded(event.removeprefix(_DATA).strip())

    def close(self) -> list[dict[str, Any]]:
        """What is left to say when the stream has ended."""
        return [] if self.over else self._guarded(None)

    def _guarded(self, data: bytes | None) -> list[dict[str, Any]]:
        try:
            return self._translated(data)
        except Refused as error:
            self.over, self.error = True, error
            return []

    def _translated(self, data: bytes | None) -> list[dict[str, Any]]:
        if data is None or data == b"[DONE]":
            self.over, self.last = True, {}
            return self._translator.end(complete=data is not None)
        self.last = decoded(data)
        if "error" in self.last:
            raise from_engine(_status(self.last["error"]), self.last)
        return self._translator.feed(self.last)

    @property
    def last_was_text(self) -> bool:
        """Whether the last event held new text and nothing else."""
        return self._translator.is_text(self.last)


def _status(error: object) -> int:
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500
