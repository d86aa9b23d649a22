"""Llama Stack routes take part in the life of the server like all others."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from arriero_api.contract import Phase
from tests.runtime.native.played import Answer, PlayedEngine, completion, native
from tests.runtime.server.harness import options_for, running
from tests.support.eventually import eventually_async

ROUTE = "/v1/inference/completion"
BODY = {"model_id": "one", "content": "x"}


async def test_before_ready_they_are_503_in_llama_stacks_form(tmp_path: Path) -> None:
    async with running(options_for(tmp_path), ready=False, engine=PlayedEngine()) as server:
        await server.reach(Phase.LOADING)
        answer = await server.client.post(ROUTE, json=BODY)
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) > 0
        assert (answer.json()["phase"], "Loading" in answer.json()["detail"]) == ("Loading", True)
        server.loader.go.set()


async def test_a_request_that_outlasts_the_drain_is_told_so_and_new_ones_are_refused(tmp_path: Path) -> None:
    async with native(tmp_path, extra=["--drain-seconds", "1"]) as stack:
        stack.engine.deaf = True
        stack.script.always(Answer(completion(), wait=True))
        asking = asyncio.ensure_future(stack.post("completion", {"content": "x"}))
        await stack.engine.started.wait()
        assert stack.server.serving.dispatcher.in_flight == 1
        stack.server.serving.stop()
        await eventually_async(lambda: stack.server.serving.dispatcher.refusing)
        refused = await stack.server.client.post(ROUTE, json=BODY)
        assert (refused.status_code, refused.json()["phase"]) == (503, "Draining")
        status, body = await asking
        assert status == 503
        assert "drainSeconds" in body["detail"]


async def test_a_request_that_is_under_way_ends_within_the_drain(tmp_path: Path) -> None:
    async with native(tmp_path) as stack:
        stack.script.always(Answer(completion(), wait=True))
        asking = asyncio.ensure_future(stack.post("batch-completion", {"content_batch": ["a", "b"]}))
        await eventually_async(lambda: len(stack.script.asked) == 2)
        stack.server.serving.stop()
        await eventually_async(lambda: stack.server.serving.dispatcher.refusing)
        stack.engine.release.set()
        status, body = await asking
        assert (status, len(body["batch"])) == (200, 2)
        assert await stack.server.exit_code() == 0


async def test_a_body_over_the_limit_is_413_in_llama_stacks_form(tmp_path: Path) -> None:
    async with native(tmp_path) as stack:
        stack.server.serving.dispatcher.gate.max_body = 1000

        async def chunks() -> AsyncIterator[bytes]:
            for _ in range(4):
                yield b"x" * 500

        answer = await stack.server.client.post(ROUTE, content=chunks())
        assert answer.status_code == 413
        assert "MiB" in answer.json()["detail"]
