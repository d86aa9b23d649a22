"""What the supervisor hears of the engine's health, and how soon."""

import asyncio
import gc
import socket
import weakref
from pathlib import Path

import pytest

from arriero_api.contract import Phase
from arriero_runtime.engine.protocol import Counters, FirstAnswer
from arriero_runtime.lifecycle import LifeCycle
from arriero_runtime.messages import Drain, Failed, Heartbeat, Message, MetricsSnapshot
from arriero_runtime.server import pulse
from arriero_runtime.server.dispatch import Dispatcher
from arriero_runtime.server.pulse import Pulse
from tests.runtime.server.harness import Running, options_for, running
from tests.runtime.server.scripted import ScriptedEngine
from tests.support.eventually import eventually_async


async def test_a_client_that_stalls_its_body_is_in_flight_but_not_in_the_engine(tmp_path: Path) -> None:
    options = options_for(tmp_path)
    async with running(options) as server:
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", options.port)) as client:
            client.sendall(head + b"content-length: 10\r\n\r\n")
            found = await eventually_async(lambda: [b for b in server.heard(Heartbeat) if b.requests_in_flight == 1])
        assert found[0].engine_requests == 0


async def test_the_first_request_and_the_drain_are_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulse, "HEARTBEAT_SECONDS", 3600.0)
    async with running(options_for(tmp_path)) as server:
        async with server.open_stream():
            await eventually_async(lambda: server.heard(Heartbeat)[-1].requests_in_flight == 1)
            before = len(server.heard(Heartbeat))
            server.supervisor.send(Drain())
            await eventually_async(lambda: len(server.heard(Heartbeat)) > before)
            server.engine.release.set()
        assert await server.exit_code() == 0


class Hung(ScriptedEngine):
    """Holds every question for ever, until it recovers."""

    def __init__(self) -> None:
        super().__init__()
        self.held = 1
        self.steps = 1
        self.asked = asyncio.Event()
        self.recovered = asyncio.Event()

    def counters(self) -> Counters:
        return Counters(self.steps, 0, self.held)

    async def first_answer(self) -> FirstAnswer:
        self.held = 1
        self.asked.set()
        await self.recovered.wait()
        self.steps, self.held = self.steps + 1, 0
        return self.answer


async def test_an_engine_that_lost_its_requests_while_stuck_is_asked_until_it_makes_a_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pulse, "HEARTBEAT_SECONDS", 0.02)
    monkeypatch.setattr(pulse, "_SHORTEST_GAP_SECONDS", 0.01)
    told: list[Message] = []
    life = LifeCycle(lambda status: None)
    for phase in (Phase.RESOLVING, Phase.LOADING, Phase.WARMING, Phase.READY):
        life.enter(phase)
    engine = Hung()
    beating = Pulse(told.append, Dispatcher(life, 300), lambda: engine, ask_seconds=0.1)
    task = asyncio.ensure_future(beating.beat())
    await eventually_async(lambda: len(told) > 10)
    assert not engine.asked.is_set()
    engine.held = 0
    await asyncio.wait_for(engine.asked.wait(), 10)
    assert isinstance(told[-1], Heartbeat)
    engine.recovered.set()
    await eventually_async(lambda: isinstance(told[-1], Heartbeat) and told[-1].engine_steps_total == 2)
    engine.asked.clear()
    before = len(told)
    await eventually_async(lambda: len(told) > before + 10)
    assert not engine.asked.is_set()
    task.cancel()
    beating.close()


async def test_metrics_that_cannot_be_read_once_are_sent_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pulse, "SNAPSHOT_SECONDS", 0.02)
    async with running(options_for(tmp_path)) as server:
        monkeypatch.setattr(server.engine, "metrics", lambda: 1 / 0)
        await eventually_async(lambda: "the engine's metrics cannot be read" in caplog.text)
        monkeypatch.setattr(server.engine, "metrics", lambda: "mended 1\n")
        await eventually_async(lambda: server.heard(MetricsSnapshot)[-1].text.endswith("mended 1\n"))


async def test_an_engine_that_is_given_away_is_not_kept_until_the_next_metrics() -> None:
    told: list[Message] = []
    engines = [ScriptedEngine()]
    seen = weakref.ref(engines[0])
    beating = Pulse(told.append, Dispatcher(LifeCycle(lambda status: None), 300), lambda: engines[0])
    task = asyncio.ensure_future(beating.snapshots())
    await eventually_async(lambda: told)
    engines.clear()
    gc.collect()
    assert seen() is None
    task.cancel()


async def end_of_a_part(server: Running) -> str:
    assert await server.exit_code() == 1
    failures = [message.failure for message in server.heard(Failed)]
    assert [found.reason for found in failures] == ["RuntimeExited"]
    return failures[0].message


async def test_a_server_whose_port_has_died_ends_and_says_so(tmp_path: Path) -> None:
    options = options_for(tmp_path)
    async with running(options) as server:
        server.serving._http.should_exit = True
        assert f"port {options.port}: it ended" in await end_of_a_part(server)


async def test_a_server_whose_heart_has_stopped_ends_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(options_for(tmp_path)) as server:
        monkeypatch.setattr(server.engine, "counters", lambda: 1 / 0)
        assert "the heartbeat: ZeroDivisionError" in await end_of_a_part(server)
