"""Asking the engine's application from inside, on behalf of one client."""

import asyncio
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

from arriero_runtime.engine.protocol import AsgiApp, Message, Receive, Scope, Send
from arriero_runtime.native.text import decoded, encoded

_FORWARDED: Final = frozenset({b"x-request-id", b"x-session-id", b"traceparent", b"tracestate"})
_RETURNED: Final = frozenset({b"x-request-id"})


class ClientGone(Exception):
    """The client has left, or its request was ended: nobody is there to be answered."""


@dataclass
class Answer:
    """What the application answered. `headers` are those that are for the client too; `streams`: it is a stream, and no
    error."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    streams: bool = False
    body: bytearray = field(default_factory=bytearray)

    def is_event(self, message: Message) -> bool:
        """Whether it brings events of a stream."""
        return self.streams and bool(message["type"] == "http.response.body")

    def take(self, message: Message) -> None:
        """The head of a response, or some of its body."""
        if message["type"] == "http.response.start":
            self._start(message)
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")

    def _start(self, message: Message) -> None:
        self.status = message["status"]
        for name, value in message.get("headers", []):
            if name.lower() in _RETURNED:
                self.headers.append((name.lower(), value))
            elif name.lower() == b"content-type":
                self.streams = self.status == 200 and value.startswith(b"text/event-stream")

    @property
    def json(self) -> Any:
        """The parsed body; None where it is no JSON."""
        try:
            return decoded(self.body)
        except ValueError:
            return None


class Caller:
    """One client's request, whose body is read once; a context manager. The client's leaving ends every question under
    way: one, unless `several` has been called."""

    def __init__(self, app: AsgiApp, scope: Scope, receive: Receive) -> None:
        self._app = app
        self._scope = scope
        self._receive = receive
        self._gone: asyncio.Future[None] | None = None
        self._left = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._gone is not None:
            self._gone.cancel()

    async def body(self) -> bytes:
        """The request's whole body. Raises ClientGone."""
        data = bytearray()
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            data += message.get("body", b"")
            if not message.get("more_body", False):
                return bytes(data)

    def several(self) -> None:
        """Before questions that are under way at the same time: each of them learns that the client has left."""
        self._gone = asyncio.ensure_future(self._leave())

    async def _leave(self) -> None:
        while (await self._next())["type"] != "http.disconnect":
            pass

    async def _next(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._left = True
        return message

    async def ask(self, method: str, path: str, payload: object = None, part: str = "") -> Answer:
        """The whole answer. `part` tells several questions of one request apart. Raises ClientGone."""
        answer = Answer()

        async def collect(message: Message) -> None:
            answer.take(message)

        await self._call(method, path, payload, part, collect)
        self.still_there()
        return answer

    async def follow(self, path: str, payload: object, send: Send, part: str = "") -> None:
        """All of the answer goes to `send`. Raises ClientGone, and what `send` raises."""
        await self._call("POST", path, payload, part, send)
        self.still_there()

    def still_there(self) -> None:
        """Raises ClientGone."""
        if self._left:
            raise ClientGone

    async def _call(self, method: str, path: str, payload: object, part: str, send: Send) -> None:
        # Not kept: the answer may take long, and the body be large.
        bodies = [b"" if payload is None else encoded(payload)]
        length = len(bodies[0])

        async def receive() -> Message:
            if bodies:
                return {"type": "http.request", "body": bodies.pop(), "more_body": False}
            if self._gone is None:
                return await self._next()
            await asyncio.shield(self._gone)
            return {"type": "http.disconnect"}

        await self._app(self._inner_scope(method, path, length, part), receive, send)

    def _inner_scope(self, method: str, path: str, length: int, part: str) -> Scope:
        kept = [
            (name, value + part.encode() if name == b"x-request-id" else value)
            for name, value in self._scope["headers"]
            if name in _FORWARDED
        ]
        headers = [(b"content-type", b"application/json"), (b"content-length", str(length).encode()), *kept]
        changes = {"method": method, "path": path, "raw_path": path.encode(), "query_string": b"", "headers": headers}
        return {**self._scope, **changes, "state": {}}
