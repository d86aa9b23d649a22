"""What one connection may do: a head is bounded in size and time, an offer of another protocol is not taken."""

import asyncio
import socket
import struct
import weakref
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from arriero_runtime.engine.protocol import Receive, Scope, Send
from arriero_runtime.server import http
from arriero_runtime.server.answers import reply
from tests.runtime.server.harness import Running, options_for, running
from tests.support.eventually import eventually_async

BODY = b'{"model": "one"}'
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 16\r\n"


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Running]:
    monkeypatch.setattr(http, "_KEEP_ALIVE_SECONDS", 1)
    async with running(options_for(tmp_path)) as found:
        yield found


async def talk(server: Running, *pieces: bytes) -> bytes:
    """Everything that comes back until the server ends the connection; the pieces are sent apart."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.options.port)
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0)
    got = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    return got


@pytest.mark.parametrize("protocol", [b"h2c", b"websocket"])
@pytest.mark.parametrize("apart", [True, False])
async def test_a_request_that_offers_another_protocol_is_answered_without_it(
    server: Running, protocol: bytes, apart: bool
) -> None:
    offer = b"connection: Upgrade, HTTP2-Settings\r\nupgrade: " + protocol + b"\r\nhttp2-settings: AAMAAABk\r\n\r\n"
    pieces = (HEAD + offer, BODY) if apart else (HEAD + offer + BODY,)
    assert b"Paris" in await talk(server, *pieces)


async def test_the_next_request_of_such_a_connection_is_answered_too(server: Running) -> None:
    offer = b"connection: upgrade\r\nupgrade: h2c\r\n\r\n"
    got = await talk(server, HEAD + offer + BODY + HEAD + b"\r\n" + BODY)
    assert got.count(b"Paris") == 2


async def test_any_number_of_offers_in_one_piece_is_answered(server: Running) -> None:
    offer = b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"
    got = await talk(server, offer * 700)
    assert got.count(b"HTTP/1.1 200 ") == 700


async def test_a_client_of_http_1_0_gets_a_stream_without_chunks_that_ends_with_the_connection(
    server: Running,
) -> None:
    server.engine.release.set()
    body = b'{"model": "one", "user": "stream"}'
    head = b"POST /v1/chat/completions HTTP/1.0\r\nconnection: keep-alive\r\ncontent-type: application/json\r\n"
    got = await talk(server, head + b"content-length: %d\r\n\r\n" % len(body) + body)
    answer, stream = got.split(b"\r\n\r\n", 1)
    assert b"transfer-encoding" not in answer
    assert b"connection: close" in answer
    assert stream == b"data: one\n\ndata: two\n\ndata: [DONE]\n\n"


async def test_a_client_of_http_1_0_gets_an_answer_with_its_length(server: Running) -> None:
    got = await talk(server, b"GET /v1/version HTTP/1.0\r\n\r\n")
    answer, text = got.split(b"\r\n\r\n", 1)
    assert b"content-length: %d\r\n" % len(text) in answer
    assert b"version" in text


async def test_connect_is_refused_and_ends(server: Running) -> None:
    assert b" 40" in (await talk(server, b"CONNECT /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")).split(b"\r\n")[0]


@pytest.mark.parametrize("head", [b"GET /health HTTP/1.1\r\nx: ", b"GET /"], ids=["headers", "path"])
async def test_a_head_without_end_is_refused(server: Running, head: bytes) -> None:
    assert b" 400 " in await talk(server, head, *[b"a" * 30_000] * 3)


async def test_a_connection_without_a_whole_head_is_ended_however_slowly_it_comes(server: Running) -> None:
    assert await talk(server) == b""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.options.port)

    async def drip() -> None:
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.1)

    writer.write(b"GET /health HTTP/1.1\r\nx: ")
    dripping = asyncio.create_task(drip())
    assert await asyncio.wait_for(reader.read(), 10) == b""
    dripping.cancel()
    await asyncio.gather(dripping, return_exceptions=True)
    writer.close()


async def test_a_body_that_nobody_waits_for_does_not_keep_the_connection(server: Running) -> None:
    got = await talk(server, b"POST /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n", b"x")
    assert b" 404 " in got.split(b"\r\n")[0]


async def test_a_connection_that_its_client_resets_is_let_go_at_once() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await reply(send, 200, "{}")

    listening = http.listen("127.0.0.1", 0)
    server = http.make(app)
    serving = asyncio.ensure_future(server.serve(sockets=[listening]))
    try:
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert await asyncio.wait_for(reader.readuntil(b"{}"), 10)
        (kept,) = [weakref.ref(connection) for connection in server.server_state.connections]
        # Without any time to linger an end is a reset.
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()
        await eventually_async(lambda: kept() is None, timeout=2)
    finally:
        server.should_exit = True
        await asyncio.wait_for(serving, 10)
