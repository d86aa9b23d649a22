"""A request that is cut ends in order, and in time, whatever its client does."""

import asyncio
import gc
import weakref
from pathlib import Path

import pytest

from arriero_runtime.engine.protocol import Message, Receive, Scope, Send
from arriero_runtime.server import exchange as exchanges
from arriero_runtime.server.answers import timed_out
from arriero_runtime.server.exchange import Exchange
from tests.runtime.server.harness import options_for, running
from tests.runtime.server.scripted import ScriptedEngine
from tests.support.eventually import eventually_async

STREAM = [(b"content-type", b"text/event-stream")]


class Client:
    """FAKE: the server's side of a connection, whose client reads only while it is willing."""

    def __init__(self) -> None:
        self.willing = asyncio.Event()
        self.willing.set()
        self.got: list[Message] = []
        self.aborted = asyncio.Event()
        self.blocked = asyncio.Event()

    async def receive(self) -> Message:
        await self.aborted.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if not self.willing.is_set():
            self.blocked.set()
        await self.willing.wait()
        self.got.append(message)

    def abort(self) -> None:
        self.aborted.set()
        self.willing.set()


async def chatter(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that streams for ever."""
    await send({"type": "http.response.start", "status": 200, "headers": STREAM})
    while True:
        await send({"type": "http.response.body", "body": b"data: x\n\n", "more_body": True})
        await asyncio.sleep(0)


async def test_a_chunk_that_was_under_way_at_the_cut_comes_before_the_last_words() -> None:
    client = Client()
    exchange = Exchange(client.receive, client.send, 100, abort=client.abort)
    running_one = asyncio.ensure_future(exchange.run(chatter, {}))
    await eventually_async(lambda: len(client.got) > 1)
    client.willing.clear()
    await client.blocked.wait()
    exchange.cut(timed_out(1))
    await asyncio.sleep(0)
    client.willing.set()
    await asyncio.wait_for(running_one, 10)
    assert b"504" in client.got[-1]["body"]
    assert not client.got[-1].get("more_body", False)
    assert not client.aborted.is_set()


@pytest.mark.parametrize("answer", ["stream", "whole"])
async def test_a_client_that_reads_nothing_loses_its_connection(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    monkeypatch.setattr(exchanges, "LAST_WORDS_SECONDS", 0.05)
    client = Client()

    async def whole(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x"})

    client.willing.clear()
    exchange = Exchange(client.receive, client.send, 100, abort=client.abort)
    running_one = asyncio.ensure_future(exchange.run(chatter if answer == "stream" else whole, {}))
    await client.blocked.wait()
    exchange.cut(timed_out(1))
    await asyncio.wait_for(client.aborted.wait(), 5)
    await asyncio.wait_for(running_one, 5)


class Torrent(ScriptedEngine):
    """Streams without end."""

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": STREAM})
        while True:
            await send({"type": "http.response.body", "body": b"data: x\n\n" * 10_000, "more_body": True})


async def test_the_time_of_a_request_ends_also_for_a_real_client_that_stops_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchanges, "LAST_WORDS_SECONDS", 0.2)
    options = options_for(tmp_path, ["--request-timeout-seconds", "1"])
    async with running(options) as server:
        server.serving.dispatcher.app = Torrent().app
        reader, writer = await asyncio.open_connection("127.0.0.1", options.port, limit=1024)
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        writer.write(head + b"content-length: 2\r\n\r\n{}")
        await eventually_async(lambda: server.serving.dispatcher.in_flight == 1)
        await eventually_async(lambda: server.serving.dispatcher.in_flight == 0)
        got = await asyncio.wait_for(reader.read(), 10)
        assert not got.endswith(b"0\r\n\r\n")
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("begun", ["not yet", "stream", "whole"])
async def test_an_error_of_the_application_is_told_in_the_form_of_the_api(begun: str) -> None:
    client = Client()

    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        if begun != "not yet":
            headers = STREAM if begun == "stream" else []
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"data: x\n\n", "more_body": True})
        raise RuntimeError("broken")

    await Exchange(client.receive, client.send, 100, abort=client.abort).run(broken, {})
    assert client.aborted.is_set() == (begun == "whole")
    if begun != "whole":
        assert b'"type": "server_error"' in client.got[-1]["body"]
        assert not client.got[-1].get("more_body", False)
    assert b"broken" not in client.got[-1]["body"]


async def test_a_request_leaves_nothing_to_the_garbage_collector() -> None:
    async def listens(scope: Scope, receive: Receive, send: Send) -> None:
        """As the engine's application, which gives up to wait for its client's leaving once it has an answer."""
        listening = asyncio.ensure_future(receive())
        await asyncio.sleep(0)
        listening.cancel()
        await asyncio.wait({listening})
        await send({"type": "http.response.start", "status": 200, "headers": STREAM})
        await send({"type": "http.response.body", "body": b"data: x\n\n"})

    client = Client()
    exchange = Exchange(client.receive, client.send, 100, abort=client.abort)
    kept = weakref.ref(exchange)
    gc.disable()
    try:
        await exchange.run(listens, {})
        del exchange
        assert kept() is None
    finally:
        gc.enable()
