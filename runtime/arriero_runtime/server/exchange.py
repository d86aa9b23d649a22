"""One request on its way through the engine's application, which can be cut short in an orderly way.

Cutting looks like a client that has gone: the application then stops the engine's work by itself, whatever tasks it
has made. The real client gets an error, or in a stream an error event and the stream's proper end; one that does not
read it loses its connection.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from arriero_runtime.engine.protocol import AsgiApp, Message, Receive, Scope, Send
from arriero_runtime.server.answers import OPENAI, Refusal, Voice, failed, too_large

_LEAVE_SECONDS: Final = 5.0
"""How long an application may take to notice that its client has gone."""
LAST_WORDS_SECONDS: Final = 2.0
"""How long a client may take to read the error that ends its request; then its connection is ended."""
log = logging.getLogger(__name__)


class Exchange:
    """Runs one request. `left` tells afterwards whether its client went before the answer's end; `over` is set when all
    is done that there was to do for it.

    `closing` asks the client to open a new connection for its next request. `abort` ends the connection, whatever it
    still has to send. `more` is a shorter way than `send` for what follows the beginning of a stream.
    """

    def __init__(
        self,
        receive: Receive,
        send: Send,
        max_body: int,
        *,
        abort: Callable[[], object],
        more: Send | None = None,
        closing: bool = False,
        voice: Voice = OPENAI,
    ) -> None:
        self._receive = receive
        self._send = send
        self._more = more or send
        self._left = max_body
        self._max_body = max_body
        self._closing = closing
        self.voice = voice
        self._abort = abort
        self._under_way = 0
        self._quiet: asyncio.Future[None] | None = None
        self._refusal: Refusal | None = None
        self._settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waits: set[asyncio.Timeout] = set()
        self._started = False
        self._stream = False
        self._ended = False
        self.left = False
        self.over = asyncio.Event()

    @property
    def was_cut(self) -> bool:
        return self._refusal is not None

    def cut(self, refusal: Refusal) -> None:
        """End it now, for the reason given. Harmless when repeated, or after its end."""
        if self._refusal is None:
            self._refusal = refusal
            self._settle()
            for wait in self._waits:
                wait.reschedule(0)

    async def run(self, app: AsgiApp, scope: Scope) -> None:
        """Until the application has answered, or the exchange is cut. An error of the application is logged, and told
        to the client as far as its answer has not ended."""
        task = asyncio.ensure_future(app(scope, self._incoming, self._outgoing))
        task.add_done_callback(self._settle)
        try:
            await self._settled
            if self._refusal is not None:
                task.add_done_callback(_note)
                await self._bounded_last_words(self._refusal)
                await asyncio.wait({task}, timeout=_LEAVE_SECONDS)
        finally:
            if not task.done():
                task.cancel()
        if self._refusal is None and not task.cancelled() and (error := task.exception()) is not None:
            log.error("a request failed", exc_info=error)
            await self._bounded_last_words(failed())

    def _settle(self, _: object = None) -> None:
        if not self._settled.done():
            self._settled.set_result(None)

    async def _bounded_last_words(self, refusal: Refusal) -> None:
        try:
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                if self._under_way:
                    # What the application is just sending goes first: nothing of it can come after the last words.
                    self._quiet = asyncio.get_running_loop().create_future()
                    await self._quiet
                await self._last_words(refusal)
        except TimeoutError:
            log.info("a client does not read the end of its request: its connection is ended")
            self._abort()

    async def _last_words(self, refusal: Refusal) -> None:
        if self._ended:
            return
        if not self._started:
            await refusal.send(self._send, self.voice)
        elif self._stream:
            await self._send({"type": "http.response.body", "body": self.voice.last_words(refusal)})
        else:
            # An answer that is not a stream and broke off in the middle has no proper end.
            self._abort()

    async def _incoming(self) -> Message:
        message = None if self._refusal is not None else await self._received()
        if message is None or self._refusal is not None:
            return {"type": "http.disconnect"}
        if message["type"] == "http.disconnect" and not self._ended:
            self.left = True
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            self.cut(too_large(self._max_body))
            return {"type": "http.disconnect"}
        return message

    async def _received(self) -> Message | None:
        """None where the exchange is cut first. No task for it: each request waits for its client several times."""
        try:
            async with asyncio.timeout(None) as wait:
                self._waits.add(wait)
                try:
                    return await self._receive()
                finally:
                    self._waits.discard(wait)
                    # It holds its task, and the error of one that is cancelled holds this frame: all that the request
                    # was made of would be left to the garbage collector.
                    del wait
        except TimeoutError:
            return None

    def _outgoing(self, message: Message) -> Awaitable[None]:
        # For every token of every stream: no more calls than it needs. What waits for the client here needs no count,
        # as the last words would wait behind it.
        if self._refusal is not None:
            raise _ended()
        return self._more(message) if self._stream and message.get("more_body") else self._turn(message)

    async def _turn(self, message: Message) -> None:
        """The beginning, the end, and all of an answer that is no stream."""
        if message["type"] == "http.response.start":
            message = self._begun(message)
        self._under_way += 1
        try:
            await self._send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                self._ended = True
        finally:
            self._under_way -= 1
            if self._quiet is not None and not self._under_way and not self._quiet.done():
                self._quiet.set_result(None)
        if self._refusal is not None:
            raise _ended()

    def _begun(self, message: Message) -> Message:
        self._started = True
        headers = list(message.get("headers", []))
        self._stream = any(
            name.lower() == b"content-type" and value.startswith(b"text/event-stream") for name, value in headers
        )
        return {**message, "headers": [*headers, (b"connection", b"close")]} if self._closing else message


def _ended() -> OSError:
    return OSError("the request was ended")


def _note(task: "asyncio.Future[None]") -> None:
    """An application that was cut short may end with any error: its client has been answered already."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.debug("a request that was cut ended with %r", error)
