"""Class C of the field cases, as far as it concerns what stands between client and engine."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from arriero_api.contract import Phase
from arriero_runtime.engine.protocol import Receive, Send
from tests.runtime.server.harness import Running, options_for, running
from tests.runtime.server.scripted import ScriptedEngine
from tests.support.eventually import eventually_async

EVENT = 'data: {"text": "🙂 žluťoučký 漢字 שלום 👩‍👩‍👧"}\n\n'.encode()
CHATS = ("/v1/chat/completions", "/v1/openai/v1/chat/completions")


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


@pytest.mark.parametrize("path", CHATS)
async def test_c10_characters_that_are_cut_between_pieces_arrive_whole(tmp_path: Path, path: str) -> None:
    async with running(options_for(tmp_path), ready=False) as server:
        server.loader.engine = Pieces()
        server.loader.go.set()
        await server.reach(Phase.READY)
        got = await server.client.post(path, json={"model": "one", "user": "stream"})
        assert got.content.startswith(EVENT)
