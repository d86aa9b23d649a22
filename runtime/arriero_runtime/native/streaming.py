"""One streamed answer: server-sent events of the engine's application in, of Llama Stack out.

Nothing is sent before the engine's first event, so that an error known by then has its own status.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from arriero_runtime.engine.protocol import Send
from arriero_runtime.native.errors import NATIVE, Refused, from_engine

Header = tuple[bytes, bytes]


class Translator(Protocol):
    """From chunks of the one form to chunks of the other."""

    def feed(self, chunk: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The chunks for one chunk of the engine's."""

    def end(self, *, complete: bool) -> list[dict[str, Any]]:
        """The last chunks; `complete` tells that the engine has said so. Raises Refused for an answer broken off."""


class EventStream:
    """`headers` go with the response."""

    def __init__(self, translator: Translator, send: Send, headers: Iterable[Header]) -> None:
        self._translator = translator
        self._send = send
        self._headers = list(headers)
        self._rest = b""
        self._started = False
        self._over = False

    async def take(self, data: bytes) -> None:
        """Some bytes of the engine's stream, which need not end where an event does."""
        if self._over:
            return
        *events, self._rest = (self._rest + data).split(b"\n\n")
        chunks: list[dict[str, Any]] = []
        comments = b""
        try:
            for event in events:
                if event.startswith(b":"):
                    comments += event + b"\n\n"
                elif event.startswith(b"data:") and not self._over:
                    chunks += self._translated(event.removeprefix(b"data:").strip())
        except Refused as error:
            await self._write(_encoded(chunks))
            await self.fail(error)
        else:
            await self._write(_encoded(chunks) + comments)

    def _translated(self, data: bytes) -> list[dict[str, Any]]:
        if data == b"[DONE]":
            self._over = True
            return self._translator.end(complete=True)
        chunk = json.loads(data)
        if isinstance(chunk.get("error"), dict):
            raise from_engine(_status(chunk["error"].get("code")), chunk)
        return self._translator.feed(chunk)

    async def close(self) -> None:
        """The engine's stream has ended."""
        if not self._over:
            self._over = True
            try:
                await self._write(_encoded(self._translator.end(complete=False)))
            except Refused as error:
                await self.fail(error)
        if self._started:
            await self._send({"type": "http.response.body", "body": b""})

    async def fail(self, error: Refused) -> None:
        """An answer with the error's status, or an event where the answer has begun."""
        self._over = True
        if self._started:
            await self._write(f"data: {NATIVE.event(error.refusal)}\n\n".encode())
        else:
            await error.refusal.send(self._send, NATIVE)

    async def _write(self, data: bytes) -> None:
        if not data:
            return
        if not self._started:
            self._started = True
            headers = [(b"content-type", b"text/event-stream; charset=utf-8"), *self._headers]
            await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._send({"type": "http.response.body", "body": data, "more_body": True})


def _encoded(chunks: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n" for chunk in chunks)


def _status(code: object) -> int:
    return code if isinstance(code, int) and 400 <= code < 600 else 500
