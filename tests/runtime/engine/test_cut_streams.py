"""A stream that is cut ends all at once, from the exchange with its client down to the engine's generator, and leaves
nothing to the garbage collector.

FAKE: the application's route and its generators, one inside the other as vLLM has them.
"""

import asyncio
import gc
import itertools
import weakref
from collections.abc import AsyncIterator
from typing import Any

import pytest

from arriero_runtime.engine.protocol import Message, Receive, Scope, Send
from arriero_runtime.engine.vllm.streams import Straight
from arriero_runtime.server.answers import timed_out
from arriero_runtime.server.exchange import Exchange
from arriero_runtime.server.told import Told

PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages")


class Engine:
    """Gives an event in each turn of the loop; after some it waits for ever where it is `slow`."""

    def __init__(self, *, slow: bool) -> None:
        self._slow = slow
        self.begun = asyncio.Event()
        self.stopped = asyncio.Event()

    async def generate(self) -> AsyncIterator[str]:
        try:
            for number in itertools.count():
                await asyncio.sleep(0)
                yield str(number)
                if self._slow and number > 3:
                    self.begun.set()
                    await asyncio.Event().wait()
        finally:
            self.stopped.set()

    async def events(self) -> AsyncIterator[str]:
        async for token in self.generate():
            yield f"data: {token}\n\n"

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()

        async def converted(events: AsyncIterator[str]) -> AsyncIterator[str]:
            async for event in events:
                yield event

        await Straight(converted(self.events()), media_type="text/event-stream")(scope, receive, send)


class Client:
    """FAKE: the server's side of a connection. One that does not read lets the sixth message wait."""

    def __init__(self, *, reads: bool) -> None:
        self._reads = reads
        self._asked = False
        self.left = asyncio.Event()
        self.blocked = asyncio.Event()
        self.got: list[Message] = []

    async def receive(self) -> Message:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"{}", "more_body": False}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.got.append(message)
        if len(self.got) > 5 and not self._reads:
            self.blocked.set()
            await self.left.wait()

    def abort(self) -> None:
        self.left.set()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("end", ["client", "time"])
@pytest.mark.parametrize("moment", ["between events", "in an event"])
async def test_a_cut_stream_stops_the_engine_at_once_and_leaves_nothing_behind(
    path: str, end: str, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arriero_runtime.server.exchange.LAST_WORDS_SECONDS", 0.05)
    between = moment == "between events"
    engine, client = Engine(slow=between), Client(reads=between)
    exchange = Exchange(client.receive, client.send, 100, abort=client.abort)
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": path, "asgi": {"spec_version": "2.3"}}
    gc.collect()
    gc.disable()
    try:
        running = asyncio.ensure_future(exchange.run(Told(engine.app, lambda: False), scope))
        await asyncio.wait_for((engine.begun if between else client.blocked).wait(), 5)
        if end == "client":
            client.left.set()
        else:
            exchange.cut(timed_out(1))
        await asyncio.wait_for(running, 5)
        await asyncio.wait_for(engine.stopped.wait(), 1)
        kept = weakref.ref(exchange)
        del exchange, running
        await asyncio.sleep(0)
        assert kept() is None
    finally:
        gc.enable()
