"""Bytes that try to make the server see more requests than there are, or to keep it waiting."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.runtime.server.harness import Running, options_for, running

BODY = json.dumps({"model": "one"}).encode()
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Running]:
    async with running(options_for(tmp_path)) as found:
        yield found


async def raw(server: Running, data: bytes, seconds: float = 1.5) -> bytes:
    """What the server answers to these bytes until it closes the connection, or says no more for so long."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.options.port)
    got = bytearray()
    try:
        writer.write(data)
        while piece := await asyncio.wait_for(reader.read(65536), seconds):
            got += piece
    except (TimeoutError, ConnectionError):
        pass
    finally:
        writer.close()
    return bytes(got)


DOUBTFUL = {
    "two lengths": b"content-length: 5\r\ncontent-length: %d\r\n\r\n" % len(BODY),
    "length and chunks": b"content-length: %d\r\ntransfer-encoding: chunked\r\n\r\n" % len(BODY),
    "chunks not last": b"transfer-encoding: chunked, identity\r\n\r\n",
    "negative": b"content-length: -1\r\n\r\n",
    "two in one": b"content-length: 5 5\r\n\r\n",
    "a long header": b"x: " + b"a" * 100_000 + b"\r\n\r\n",
    "many headers": b"".join(b"x-%d: y\r\n" % i for i in range(20_000)) + b"\r\n",
    "a space": b"content-length : %d\r\n\r\n" % len(BODY),
}


@pytest.mark.parametrize("framing", DOUBTFUL.values(), ids=DOUBTFUL)
async def test_a_request_whose_end_is_in_doubt_is_refused_and_nothing_behind_it_is_read(
    server: Running, framing: bytes
) -> None:
    smuggled = b"GET /version HTTP/1.1\r\nhost: x\r\n\r\n"
    got = await raw(server, HEAD + framing + BODY + smuggled)
    assert got.count(b"HTTP/1.1") <= 1
    assert b"/version" not in got
    assert not got or got.startswith(b"HTTP/1.1 4")
    assert (await server.chat()).status_code == 200


async def test_requests_in_a_row_are_answered_in_order(server: Running) -> None:
    one = HEAD + b"content-length: %d\r\n\r\n" % len(BODY) + BODY
    last = b"GET /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    got = await raw(server, one * 3 + last, 10)
    assert got.count(b"HTTP/1.1 200") == 4
    assert got.rindex(b"/version") > got.rindex(b"Paris")


async def test_many_connections_that_say_little_hold_up_nobody(server: Running) -> None:
    opened = [await asyncio.open_connection("127.0.0.1", server.options.port) for _ in range(200)]
    for _, writer in opened:
        writer.write(HEAD + b"content-length: 100\r\n\r\n{")
    began = time.monotonic()
    assert (await server.chat()).status_code == 200
    assert time.monotonic() - began < 5
    for _, writer in opened:
        writer.close()
