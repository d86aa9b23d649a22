"""From start to end: phases, names, drain, death."""

import asyncio
from pathlib import Path

import pytest

from arriero_api.contract import Phase, registrations_hash
from arriero_runtime import failing
from arriero_runtime.engine.protocol import FirstAnswer, Receive
from arriero_runtime.failing import start_error
from arriero_runtime.messages import Drain, Drained, Failed, GiveUp, Heartbeat, MetricsSnapshot
from arriero_runtime.server import drain as drains
from tests.runtime.server.harness import Running, error_of, options_for, running, write_names
from tests.runtime.server.scripted import ScriptedEngine
from tests.support.eventually import eventually_async


def phases(server: Running) -> list[Phase]:
    return list(dict.fromkeys(status.phase for status in server.statuses))


async def test_the_phases_come_in_order_and_an_orderly_stop_exits_0(tmp_path: Path) -> None:
    async with running(options_for(tmp_path)) as server:
        server.supervisor.send(Drain())
        assert await server.exit_code() == 0
        assert phases(server) == [
            Phase.RESOLVING,
            Phase.LOADING,
            Phase.WARMING,
            Phase.READY,
            Phase.DRAINING,
            Phase.EMPTY,
        ]
        assert server.heard(Drained) == [Drained(0, 0)]
        assert server.engine.stopped


async def test_ready_tells_names_their_hash_and_the_values_in_force(tmp_path: Path) -> None:
    options = options_for(tmp_path)
    async with running(options) as server:
        status = await server.reach(Phase.READY)
        assert status.names == ("one",)
        assert status.registrations == registrations_hash(options.registrations.read_text())
        assert status.effective == {"maxModelLen": 1024}


async def test_heartbeats_carry_the_engines_counters_and_metrics_follow(tmp_path: Path) -> None:
    async with running(options_for(tmp_path)) as server:
        await eventually_async(
            lambda: [b for b in server.heard(Heartbeat) if (b.engine_steps_total, b.tokens_total) == (7, 70)]
        )
        await eventually_async(lambda: server.heard(MetricsSnapshot)[-1].text.endswith("fake_series 1\n"))


async def test_a_changed_file_changes_the_names_within_a_second(tmp_path: Path) -> None:
    options = options_for(tmp_path)
    async with running(options) as server:
        written = write_names(options.registrations, "one", "two")
        await eventually_async(lambda: server.engine.names == ("one", "two"), timeout=1)
        assert (await server.chat("two")).status_code == 200
        await eventually_async(lambda: server.statuses[-1].registrations == written.hash)
        write_names(options.registrations, "one")
        await eventually_async(lambda: server.engine.names == ("one",), timeout=1)
        assert (await server.chat("two")).status_code == 404


async def test_names_that_change_while_the_engine_loads_are_served_when_it_is_ready(tmp_path: Path) -> None:
    options = options_for(tmp_path)
    async with running(options, ready=False) as server:
        await server.reach(Phase.LOADING)
        written = write_names(options.registrations, "one", "two")
        await eventually_async(lambda: server.statuses[-1].registrations == written.hash)
        server.loader.go.set()
        await server.reach(Phase.READY)
        assert server.engine.names == ("one", "two")


async def test_a_removed_name_does_not_end_a_request_under_way(tmp_path: Path) -> None:
    options = options_for(tmp_path)
    write_names(options.registrations, "one", "two")
    async with running(options) as server:
        waiting = asyncio.ensure_future(server.chat("two", user="wait"))
        await asyncio.wait_for(server.engine.started.wait(), 10)
        write_names(options.registrations, "one")
        await eventually_async(lambda: server.engine.names == ("one",))
        server.engine.release.set()
        assert (await waiting).status_code == 200


async def test_a_broken_file_keeps_the_names(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    options = options_for(tmp_path)
    async with running(options) as server:
        options.registrations.write_text("{")
        await eventually_async(lambda: "the names stay as they were" in caplog.text)
        assert (await server.chat()).status_code == 200


async def test_a_broken_file_at_the_start_is_registrations_invalid(tmp_path: Path) -> None:
    options = options_for(tmp_path)
    options.registrations.write_text("{}")
    async with running(options, ready=False) as server:
        assert await server.exit_code() == 1
        assert [m.failure.reason for m in server.heard(Failed)] == ["RegistrationsInvalid"]


async def test_refused_arguments_end_the_start_before_anything_is_loaded(tmp_path: Path) -> None:
    async with running(options_for(tmp_path), ready=False) as server:
        server.loader.refuse = start_error("InvalidArguments", "--frobnicate is unknown", Phase.RESOLVING)
        assert await server.exit_code() == 1
        assert [m.failure.message for m in server.heard(Failed)] == ["--frobnicate is unknown"]
        assert server.loader.loaded is None


@pytest.mark.parametrize(
    "answer",
    [
        FirstAnswer((), -10.8),
        FirstAnswer((float("nan"), -1.0), -10.8),
        FirstAnswer((float("-inf"),), -10.8),
        FirstAnswer((-10.8, -10.8), -10.8),
        FirstAnswer((0.0, 0.0)),
    ],
    ids=["empty", "not a number", "infinite", "blind guess", "zero vector"],
)
async def test_an_answer_that_sound_weights_do_not_give_never_becomes_ready(
    tmp_path: Path, answer: FirstAnswer
) -> None:
    async with running(options_for(tmp_path), ready=False) as server:
        server.engine.answer = answer
        server.loader.go.set()
        assert await server.exit_code() == 1
        assert [m.failure.reason for m in server.heard(Failed)] == ["NoUsableAnswer"]
        assert Phase.READY not in phases(server)


async def test_a_model_that_can_answer_nothing_of_the_api_never_becomes_ready(tmp_path: Path) -> None:
    class Scores(ScriptedEngine):
        @property
        def paths(self) -> frozenset[str]:
            return frozenset({"/v1/systemone", "/tokenize", "/v1/models", "/metrics"})

    async with running(options_for(tmp_path), ready=False, engine=Scores()) as server:
        server.loader.go.set()
        assert await server.exit_code() == 1
        assert [m.failure.reason for m in server.heard(Failed)] == ["ModelUnsupported"]
        assert Phase.READY not in phases(server)


async def test_a_dead_engine_is_told_within_seconds(tmp_path: Path) -> None:
    async with running(options_for(tmp_path)) as server:
        server.engine.errored = True
        assert await server.exit_code() == 1
        assert [m.failure.reason for m in server.heard(Failed)] == ["EngineDied"]


async def test_requests_under_way_when_the_engine_dies_end_in_order(tmp_path: Path) -> None:
    async with running(options_for(tmp_path)) as server, server.open_stream() as lines:
        whole = asyncio.create_task(server.chat(user="wait"))
        await eventually_async(lambda: server.serving.dispatcher.in_flight == 2)
        server.engine.errored = True
        rest = [line async for line in lines if line]
        answer = await whole
    assert (answer.status_code, error_of(answer)["type"]) == (503, "server_error")
    assert '"code": 503' in rest[0]
    assert rest[1] == "data: [DONE]"


async def test_requests_under_way_when_the_engine_is_given_up_end_in_order(tmp_path: Path) -> None:
    found = failing.failure("EngineHung", "The engine made no step", Phase.READY)
    async with running(options_for(tmp_path)) as server:
        async with server.open_stream() as lines:
            whole = asyncio.create_task(server.chat(user="wait"))
            await eventually_async(lambda: server.serving.dispatcher.in_flight == 2)
            server.supervisor.send(GiveUp(found))
            rest = [line async for line in lines if line]
            answer = await whole
        assert await server.exit_code() == 1
        assert server.heard(Failed) == [Failed(found)]
    assert (answer.status_code, error_of(answer)["type"]) == (503, "server_error")
    assert '"code": 503' in rest[0]
    assert rest[1] == "data: [DONE]"


async def test_a_stop_while_starting_ends_at_once(tmp_path: Path) -> None:
    async with running(options_for(tmp_path), ready=False) as server:
        await server.reach(Phase.LOADING)
        server.supervisor.send(Drain())
        assert await server.exit_code() == 0
        assert server.heard(Drained) == [Drained(0, 0)]


async def test_a_supervisor_that_has_gone_ends_the_server(tmp_path: Path) -> None:
    async with running(options_for(tmp_path)) as server:
        server.supervisor.close()
        assert await server.exit_code() == 0
        assert server.engine.stopped


async def test_during_the_endpoint_delay_requests_are_accepted_but_the_server_is_not_ready(tmp_path: Path) -> None:
    options = options_for(tmp_path, ["--endpoint-delay-seconds", "1"])
    async with running(options) as server:
        server.supervisor.send(Drain())
        await server.reach(Phase.DRAINING)
        answer = await server.chat()
        assert (answer.status_code, answer.headers["connection"]) == (200, "close")
        assert (await server.client.get("/health")).status_code == 503


async def test_a_drain_refuses_new_requests_and_lets_old_ones_end(tmp_path: Path) -> None:
    async with running(options_for(tmp_path)) as server:
        async with server.open_stream() as lines:
            server.supervisor.send(Drain())
            await eventually_async(lambda: server.serving.dispatcher.refusing)
            refused = await server.chat()
            assert (refused.status_code, refused.headers["connection"]) == (503, "close")
            assert "retry-after" in refused.headers
            assert error_of(refused)["phase"] == "Draining"
            server.engine.release.set()
            assert [line async for line in lines if line] == ["data: two", "data: [DONE]"]
        assert await server.exit_code() == 0
        assert server.heard(Drained) == [Drained(completed=1, aborted=0)]


@pytest.mark.parametrize("deaf", [False, True])
async def test_what_does_not_end_within_the_drain_is_ended_properly(tmp_path: Path, deaf: bool) -> None:
    """Also with an engine that does not react to the abort: its clients get an error event and the stream's end."""
    async with running(options_for(tmp_path, ["--drain-seconds", "0"])) as server:
        server.engine.deaf = deaf
        async with server.open_stream() as lines:
            server.supervisor.send(Drain())
            rest = [line async for line in lines if line]
        assert ("spec.serving.drainSeconds" in rest[0]) if deaf else (rest[0] == "data: abort")
        assert rest[-1] == "data: [DONE]"
        assert await server.exit_code() == 0
        assert server.heard(Drained) == [Drained(completed=0, aborted=1)]


async def test_what_does_not_end_at_all_is_counted_as_aborted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stubborn(ScriptedEngine):
        """Notices neither an abort nor that a client has gone."""

        async def _released(self, receive: Receive) -> bool:
            await self.release.wait()
            return True

    monkeypatch.setattr(drains, "_LAST_CHUNKS_SECONDS", 0.1)
    options = options_for(tmp_path, ["--drain-seconds", "0"])
    async with running(options, engine=Stubborn()) as server, server.open_stream():
        server.supervisor.send(Drain())
        assert await server.exit_code() == 0
        assert server.heard(Drained) == [Drained(completed=0, aborted=1)]


async def test_a_taken_port_is_told(tmp_path: Path) -> None:
    options = options_for(tmp_path)
    async with running(options):
        second = Running(options)
        assert await asyncio.wait_for(second.serving.run(), 10) == 1
        assert str(options.port) in second.heard(Failed)[0].failure.message
        await second.close()
