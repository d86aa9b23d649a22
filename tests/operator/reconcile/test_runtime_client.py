"""How pods are asked: over connections that nobody meets again, and however many there are."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from arriero_api import pod
from arriero_api.contract import ContractError, Phase, RuntimeStatus
from arriero_operator.observing.runtime_client import RuntimeClient
from tests.support.eventually import eventually_async

MANY = 120
"""More than a client of aiohttp has connections by itself."""


@dataclass
class Runtime:
    """A control port on loopback. `answers` go to one question each, at last a status; `gate` holds all up."""

    answers: list[web.Response] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    asked: int = 0
    connections: set[object] = field(default_factory=set)

    async def answer(self, request: web.Request) -> web.Response:
        self.asked += 1
        self.connections.add(request.transport)
        await self.gate.wait()
        return self.answers.pop(0) if self.answers else web.Response(text=RuntimeStatus(Phase.LOADING).to_json())


@asynccontextmanager
async def runtime(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Runtime]:
    """At a port of its own."""
    found = Runtime()
    app = web.Application()
    app.router.add_get("/status", found.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    monkeypatch.setattr(pod, "CONTROL_PORT", runner.addresses[0][1])
    try:
        yield found
    finally:
        found.gate.set()
        await runner.cleanup()


async def test_no_connection_is_used_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    async with runtime(monkeypatch) as found, RuntimeClient() as client:
        found.gate.set()
        for _ in range(3):
            assert (await client.status("127.0.0.1")).phase is Phase.LOADING
        assert len(found.connections) == 3


async def test_questions_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    async with runtime(monkeypatch) as found, RuntimeClient() as client, asyncio.timeout(20):
        asking = [asyncio.create_task(client.status("127.0.0.1")) for _ in range(MANY)]
        await eventually_async(lambda: found.asked == MANY)
        found.gate.set()
        assert {one.phase for one in await asyncio.gather(*asking)} == {Phase.LOADING}


@pytest.mark.parametrize(
    "answer",
    [
        lambda: web.Response(status=503),
        lambda: web.Response(status=302, headers={"Location": "/status"}),
        lambda: web.Response(text="no JSON"),
        lambda: web.Response(text=" " * 100_000),
    ],
    ids=["an error", "elsewhere", "no JSON", "too long"],
)
async def test_what_is_no_status_is_refused(monkeypatch: pytest.MonkeyPatch, answer: type[web.Response]) -> None:
    async with runtime(monkeypatch) as found, RuntimeClient() as client:
        found.gate.set()
        found.answers = [answer()]
        with pytest.raises(ContractError):
            await client.status("127.0.0.1")
