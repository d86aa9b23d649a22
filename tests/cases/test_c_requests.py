"""Class C of the field cases, as far as it concerns what stands between client and engine."""

import asyncio
import gc
import json
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from arriero_api.contract import Phase
from arriero_runtime.engine.protocol import Receive, Send
from arriero_runtime.server.connection import Connection
from arriero_runtime.server.exchange import Exchange
from tests.runtime.server.harness import Running, options_for, running
from tests.runtime.server.scripted import ScriptedEngine
from tests.support.eventually import eventually_async

EVENT = 'data: {"text": "🙂 žluťoučký 漢字 שלום 👩‍👩‍👧"}\n\n'.encode()
CHATS = ("/v1/chat/completions", "/v1/openai/v1/chat/completions")
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
KEPT = (Connection, RequestResponseCycle, Exchange)
"""What the server has for each connection and request."""


class Pieces(ScriptedEngine):
    """FAKE: streams one event in pieces of one byte."""

    async def _stream(self, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for byte in EVENT:
            await send({"type": "http.response.body", "body": bytes([byte]), "more_body": True})
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Running]:
    async with running(options_for(tmp_path)) as found:
        yield found


@pytest.mark.parametrize("path", CHATS)
@pytest.mark.parametrize("fake", ["wait", "stream"])
async def test_c06_a_hundred_clients_that_leave_leave_nothing_running(server: Running, path: str, fake: str) -> None:
    async def leave(client: httpx.AsyncClient) -> None:
        with pytest.raises(httpx.ReadTimeout):
            await client.post(path, json={"model": "one", "user": fake})

    patience = httpx.Timeout(30, read=1)
    unlimited = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=server.client.base_url, timeout=patience, limits=unlimited) as client:
        await asyncio.gather(*(leave(client) for _ in range(100)))
    await eventually_async(lambda: server.engine.disconnects == 100, 5)
    await eventually_async(lambda: server.serving.dispatcher.in_flight == 0, 2)
    assert (await server.chat()).status_code == 200


def kept() -> Counter[str]:
    gc.collect()
    return Counter(type(one).__name__ for one in gc.get_objects() if type(one) in KEPT)


async def test_c06_a_thousand_clients_that_leave_leave_no_task_and_no_object(server: Running) -> None:
    """Before their answer, in its middle and behind its end; some close their connection, others reset it."""

    async def begin(fake: str) -> asyncio.StreamWriter:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.options.port)
        body = json.dumps({"model": "one", "user": fake}).encode()
        writer.write(HEAD % len(body) + body)
        if fake != "wait":
            await reader.readuntil(b"data: one" if fake == "stream" else b"Paris")
        return writer

    async def leave_all() -> None:
        fakes = ("wait", "stream", "whole", "whole") * 25
        writers = await asyncio.gather(*map(begin, fakes))
        await eventually_async(lambda: server.serving.dispatcher.in_flight == 50)
        for number, writer in enumerate(writers):
            if number % 8 < 4:  # without any time to linger an end is a reset
                option = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, option)
            writer.close()
        await eventually_async(lambda: server.serving.dispatcher.in_flight == 0, 2)

    objects, tasks = kept(), len(asyncio.all_tasks())
    for _ in range(10):
        await leave_all()
    await eventually_async(lambda: kept() == objects and len(asyncio.all_tasks()) == tasks, 5)
    assert server.engine.disconnects == 500


@pytest.mark.parametrize("path", CHATS)
async def test_c10_characters_that_are_cut_between_pieces_arrive_whole(tmp_path: Path, path: str) -> None:
    async with running(options_for(tmp_path), ready=False) as server:
        server.loader.engine = Pieces()
        server.loader.go.set()
        await server.reach(Phase.READY)
        got = await server.client.post(path, json={"model": "one", "user": "stream"})
        assert got.content.startswith(EVENT)
