"""One streamed answer: server-sent events of the engine's application in, of Llama Stack out.

Nothing is sent before the engine's first event, so that an error known by then has its own status.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, Protocol

from arriero_runtime.engine.protocol import Send
from arriero_runtime.native.errors import NATIVE, Refused, from_engine
from arriero_runtime.native.shortcut import Shortcut
from arriero_runtime.native.text import to_json

Header = tuple[bytes, bytes]
_DATA: Final = b"data:"
_END: Final = b"\n\n"


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
        *events, self._rest = (self._rest + data).split(_END)
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
        self.last = json.loads(data.decode())
        if "error" in self.last:
            raise from_engine(_status(self.last["error"]), self.last)
        return self._translator.feed(self.last)

    @property
    def last_was_text(self) -> bool:
        """Whether the last event held new text and nothing else."""
        return self._translator.is_text(self.last)


class EventStream:
    """Sends them on. `headers` gives those that go with the response."""

    def __init__(self, translator: Translator, send: Send, headers: Callable[[], Iterable[Header]]) -> None:
        self._events = Events(translator)
        self._send = send
        self._headers = headers
        self._shortcut = Shortcut()
        self._started = False
        self._failed = False

    def take(self, data: bytes) -> Awaitable[None]:
        """Some bytes of the engine's stream."""
        # For every token of every stream: no more calls than it needs.
        if self._started and data.endswith(_END) and self._events.between:
            known = self._shortcut.of(data[:-2])
            if known:
                return self._send({"type": "http.response.body", "body": known, "more_body": True})
        return self._take(data)

    async def _take(self, data: bytes) -> None:
        await self._write(b"".join(map(self._sent_for, self._events.split(data))))
        if self._events.error is not None:
            await self._tell_error()

    async def close(self) -> None:
        """The engine's stream has ended."""
        await self._write(_encoded(self._events.close()))
        await self._tell_error()
        if self._started:
            await self._send({"type": "http.response.body", "body": b""})

    def _sent_for(self, event: bytes) -> bytes:
        known = self._shortcut.of(event)
        return self._long_way(event) if known is None else known

    def _long_way(self, event: bytes) -> bytes:
        if event.startswith(b":"):
            return event + b"\n\n"
        chunks = self._events.translated(event)
        sent = _encoded(chunks)
        if len(chunks) == 1 and self._events.last_was_text:
            self._shortcut.learn(event, sent)
        return sent

    async def _tell_error(self) -> None:
        """An answer with the error's status, or an event where the answer has begun."""
        error = self._events.error
        if error is None or self._failed:
            return
        self._failed = True
        if self._started:
            await self._write(f"data: {NATIVE.event(error.refusal)}\n\n".encode())
        else:
            await error.refusal.send(self._send, NATIVE)

    async def _write(self, data: bytes) -> None:
        if not data:
            return
        if not self._started:
            self._started = True
            headers = [(b"content-type", b"text/event-stream; charset=utf-8"), *self._headers()]
            await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._send({"type": "http.response.body", "body": data, "more_body": True})


def _encoded(chunks: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join([f"data: {to_json(chunk)}\n\n" for chunk in chunks]).encode()


def _status(error: object) -> int:
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500
