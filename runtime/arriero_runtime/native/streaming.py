"""One streamed answer: server-sent events of the engine's application in, of Llama Stack out.

Nothing is sent before the engine's first event, so that an error known by then has its own status.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from arriero_runtime.engine.protocol import Message, Send
from arriero_runtime.native.errors import NATIVE
from arriero_runtime.native.events import END, Events, Translator
from arriero_runtime.native.inner import Answer
from arriero_runtime.native.shortcut import Shortcut
from arriero_runtime.native.text import encoded

Header = tuple[bytes, bytes]


class Reply:
    """The way back to the client. `begun` tells whether anything has gone there: what fails from then on has no status
    of its own. `more` is the way for what follows the beginning of a stream."""

    def __init__(self, send: Send) -> None:
        self.begun = False
        self.more = send

    def send(self, message: Message) -> Awaitable[None]:
        self.begun = True
        return self.more(message)


class EventStream:
    """Sends the events on. `answer` takes what is none, `headers` gives those that go with the response."""

    def __init__(
        self, translator: Translator, reply: Reply, answer: Answer, headers: Callable[[], Iterable[Header]]
    ) -> None:
        self._events = Events(translator)
        self._reply = reply
        self._more = reply.more
        self._answer = answer
        self._headers = headers
        self._shortcut = Shortcut()
        self._started = self._finished = False
        self._between = False
        self._failed = False

    def send(self, message: Message) -> Awaitable[None]:
        """The way for what the engine's application sends."""
        # For every token of every stream: no more calls than it needs.
        if self._between and (known := self._shortcut.of(message.get("body", b""))):
            return self._more({"type": "http.response.body", "body": known, "more_body": True})
        return self._look_at(message)

    async def _look_at(self, message: Message) -> None:
        if self._answer.is_event(message):
            await self._take(message.get("body", b""))
        else:
            self._answer.take(message)

    async def _take(self, data: bytes) -> None:
        sent = b"".join(map(self._sent_for, self._events.split(data)))
        if self._events.over and self._events.error is None:
            # At once, not when the application has ended: clients ask their next question as soon as they can.
            await self._finish(sent)
            return
        await self._write(sent)
        await self._tell_error()
        self._between = self._events.between

    async def close(self) -> None:
        """The engine's stream has ended."""
        await self._write(_encoded(self._events.close()))
        await self._tell_error()
        if self._started:
            await self._finish(b"")

    async def _finish(self, last: bytes) -> None:
        if not self._finished:
            self._finished = True
            await self._begin()
            await self._more({"type": "http.response.body", "body": last})

    def _sent_for(self, event: bytes) -> bytes:
        known = self._shortcut.of(event + END)
        return self._long_way(event) if known is None else known

    def _long_way(self, event: bytes) -> bytes:
        if event.startswith(b":"):
            return event + END
        chunks = self._events.translated(event)
        sent = _encoded(chunks)
        if len(chunks) == 1 and self._events.last_was_text:
            self._shortcut.learn(event + END, sent)
        else:
            # What follows may mean something to it: the text after a call says that the call is over.
            self._shortcut.forget()
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
            await error.refusal.send(self._reply.send, NATIVE)

    async def _write(self, data: bytes) -> None:
        if data:
            await self._begin()
            await self._more({"type": "http.response.body", "body": data, "more_body": True})

    async def _begin(self) -> None:
        if not self._started:
            self._started = True
            headers = [(b"content-type", b"text/event-stream; charset=utf-8"), *self._headers()]
            await self._reply.send({"type": "http.response.start", "status": 200, "headers": headers})


def _encoded(chunks: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join([b"data: %b\n\n" % encoded(chunk) for chunk in chunks])
