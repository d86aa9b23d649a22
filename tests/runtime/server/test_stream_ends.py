"""How streams of the other APIs end that cannot end well: with an error that their clients see."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import APIError, AsyncOpenAI

from arriero_runtime.engine.protocol import Receive, Scope, Send
from tests.runtime.server.harness import Running, options_for, running
from tests.runtime.server.scripted import ScriptedEngine, body_of
from tests.support.eventually import eventually_async

RESPONSES, MESSAGES = "/v1/responses", "/v1/messages"
PATHS = [RESPONSES, MESSAGES, "/v1/openai/v1/responses"]
FIRST: dict[str, dict[str, Any]] = {
    RESPONSES: {"type": "response.output_text.delta", "delta": "Pa", "sequence_number": 1},
    MESSAGES: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Pa"}},
}
LAST: dict[str, dict[str, Any]] = {
    RESPONSES: {"type": "response.completed", "response": {}},
    MESSAGES: {"type": "message_stop"},
}


def event(found: dict[str, Any]) -> bytes:
    return f"event: {found['type']}\ndata: {json.dumps(found)}\n\n".encode()


class Speaks(ScriptedEngine):
    """FAKE: tells the first event of a stream; then, as the engine's application does, a good end also for an answer
    that was aborted. `broken` lets the application fail in the middle."""

    def __init__(self) -> None:
        super().__init__()
        self.broken = asyncio.Event()

    @property
    def paths(self) -> frozenset[str]:
        return super().paths | {RESPONSES, MESSAGES}

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (path := scope["path"]) not in FIRST:
            await super()._serve(scope, receive, send)
            return
        await body_of(receive)
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": event(FIRST[path]), "more_body": True})
        self.started.set()
        fails = asyncio.ensure_future(self.broken.wait())
        goes_on = asyncio.ensure_future(self._released(receive))
        done, pending = await asyncio.wait({fails, goes_on}, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        if fails in done:
            raise RuntimeError("broken")
        if goes_on.result():
            await send({"type": "http.response.body", "body": event(LAST[path])})


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Running]:
    async with running(options_for(tmp_path, ["--drain-seconds", "0"]), engine=Speaks()) as found:
        yield found


def asking(server: Running, path: str) -> "asyncio.Task[httpx.Response]":
    return asyncio.ensure_future(server.client.post(path, json={"model": "one", "stream": True}))


def error_of(answer: httpx.Response, path: str, messages: str = "api_error") -> dict[str, Any]:
    """The error that the stream ends with, as its API has it; `messages` is its type where that is Anthropic's."""
    assert answer.status_code == 200
    first, last, rest = answer.text.split("\n\n")
    plain = path.removeprefix("/v1/openai")
    assert (first.encode() + b"\n\n", rest) == (event(FIRST[plain]), "")
    name, data = last.split("\n")
    assert name == "event: error"
    found: dict[str, Any] = json.loads(data.removeprefix("data: "))
    assert found["type"] == "error"
    if plain == RESPONSES:
        assert (found["message"], found["code"]) == (found["error"]["message"], "server_error")
    error: dict[str, Any] = found["error"]
    assert error["type"] == (messages if plain == MESSAGES else "server_error")
    return error


@pytest.mark.parametrize("path", PATHS)
async def test_an_answer_that_a_drain_cuts_off_is_never_told_as_complete(server: Running, path: str) -> None:
    answer = asking(server, path)
    await server.engine.started.wait()
    server.serving.stop()
    assert "drainSeconds is over" in error_of(await answer, path, "overloaded_error")["message"]
    assert server.engine.disconnects == 1


@pytest.mark.parametrize("path", PATHS)
async def test_a_request_over_its_time_ends_with_an_error(tmp_path: Path, path: str) -> None:
    options = options_for(tmp_path, ["--request-timeout-seconds", "1"])
    async with running(options, engine=Speaks()) as server:
        assert "requestTimeoutSeconds" in error_of(await asking(server, path), path, "timeout_error")["message"]
        await eventually_async(lambda: server.engine.disconnects == 1)


@pytest.mark.parametrize("path", PATHS)
async def test_an_application_that_fails_in_the_middle_says_so(server: Running, path: str) -> None:
    answer = asking(server, path)
    await server.engine.started.wait()
    assert isinstance(server.engine, Speaks)
    server.engine.broken.set()
    assert "failed inside the server" in error_of(await answer, path)["message"]


@pytest.mark.parametrize("path", PATHS)
async def test_the_death_of_the_engine_is_told(server: Running, path: str) -> None:
    answer = asking(server, path)
    await server.engine.started.wait()
    server.engine.errored = True
    assert "engine has failed" in error_of(await answer, path, "overloaded_error")["message"]
    assert await server.exit_code() == 1


@pytest.mark.parametrize("path", PATHS)
async def test_a_good_stream_is_passed_on_as_it_is(server: Running, path: str) -> None:
    answer = asking(server, path)
    await server.engine.started.wait()
    server.engine.release.set()
    plain = path.removeprefix("/v1/openai")
    assert (await answer).content == event(FIRST[plain]) + event(LAST[plain])


async def test_openais_client_raises_the_error_of_a_response(server: Running) -> None:
    address = f"http://127.0.0.1:{server.options.port}/v1"
    async with AsyncOpenAI(base_url=address, api_key="none", max_retries=0) as client:
        stream = await client.responses.create(model="one", input="x", stream=True)
        assert (await anext(stream)).type == "response.output_text.delta"
        server.serving.stop()
        with pytest.raises(APIError, match="drainSeconds is over"):
            await anext(stream)
