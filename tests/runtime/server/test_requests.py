"""What port 8080 answers, and what it does not."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from arriero_api.contract import Phase
from tests.runtime.server.harness import Running, error_of, options_for, running
from tests.support.eventually import eventually_async


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Running]:
    async with running(options_for(tmp_path, ["--request-timeout-seconds", "1"])) as found:
        yield found


async def test_a_chat_request_reaches_the_engine(server: Running) -> None:
    answer = await server.chat()
    assert (answer.status_code, answer.json()) == (200, {"answer": "Paris"})


@pytest.mark.parametrize("path", ["/invocations", "/docs", "/scale_elastic_ep", "/v1/load_lora_adapter", "/v1/models/"])
async def test_what_is_not_on_the_allow_list_is_404_although_the_engine_has_it(server: Running, path: str) -> None:
    for method in ("GET", "POST"):
        answer = await server.client.request(method, path)
        assert answer.status_code == 404
        assert error_of(answer)["type"] == "invalid_request_error"


async def test_a_route_that_this_model_lacks_is_404_in_the_openai_form(server: Running) -> None:
    answer = await server.client.post("/v1/embeddings", json={"model": "one", "input": "x"})
    assert answer.status_code == 404
    assert "/v1/embeddings" in str(error_of(answer)["message"])


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
async def test_another_method_is_405_and_names_the_right_one(server: Running, method: str) -> None:
    answer = await server.client.request(method, "/v1/chat/completions")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


async def test_a_body_over_the_limit_is_413_whether_its_length_is_announced_or_not(server: Running) -> None:
    server.serving.dispatcher.gate.max_body = 1000

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(4):
            yield b"x" * 500

    json = {"content-type": "application/json"}
    announced = await server.client.post("/v1/chat/completions", content=b"x" * 1001, headers=json)
    assert announced.status_code == 413
    chunked = await server.client.post("/v1/chat/completions", content=chunks(), headers=json)
    assert chunked.status_code == 413


async def test_before_ready_the_port_answers_503_with_the_phase(tmp_path: Path) -> None:
    async with running(options_for(tmp_path), ready=False) as server:
        await server.reach(Phase.LOADING)
        for answer in (await server.chat(), await server.client.get("/health")):
            assert answer.status_code == 503
            assert int(answer.headers["retry-after"]) > 0
            assert error_of(answer)["phase"] == "Loading"
        server.loader.go.set()
        await server.reach(Phase.READY)
        assert (await server.client.get("/health")).status_code == 200


async def test_a_request_over_its_time_is_504_and_the_engine_stops_working_on_it(server: Running) -> None:
    answer = await server.chat(user="wait")
    assert answer.status_code == 504
    assert "requestTimeoutSeconds" in str(error_of(answer)["message"])
    await eventually_async(lambda: server.engine.disconnects == 1)
    await eventually_async(lambda: server.serving.dispatcher.in_flight == 0)


async def test_a_stream_over_its_time_ends_with_an_error_event_and_properly(server: Running) -> None:
    async with server.open_stream() as lines:
        rest = [line async for line in lines if line]
    assert '"code": 504' in rest[0]
    assert rest[1] == "data: [DONE]"
    await eventually_async(lambda: server.engine.disconnects == 1)


async def test_a_client_that_leaves_stops_the_engines_work(server: Running) -> None:
    async with server.open_stream():
        pass
    await eventually_async(lambda: server.engine.disconnects == 1)
    await eventually_async(lambda: server.serving.dispatcher.in_flight == 0)


async def test_an_unknown_model_is_404(server: Running) -> None:
    assert (await server.chat("other")).status_code == 404


async def test_a_websocket_is_refused(server: Running) -> None:
    upgrade = {
        "connection": "upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    answer: httpx.Response = await server.client.get("/v1/chat/completions", headers=upgrade)
    assert answer.status_code >= 400
