"""Between loaded and ready: an engine that dies or hangs there is told, whatever it was just asked."""

import asyncio
from pathlib import Path

import pytest

from arriero_api.contract import NameKind, Phase, Registration, Registrations
from arriero_runtime.cli import ServeOptions
from arriero_runtime.engine.protocol import EngineGone, EngineSilent, FirstAnswer, LoraCapacity
from arriero_runtime.messages import Drained, Failed, Status
from arriero_runtime.server import warming
from tests.models.lora import adapter
from tests.runtime.alone.harness import alone
from tests.runtime.server.harness import Running, error_of, layered_model, options_for, running
from tests.runtime.server.scripted import ScriptedEngine


class Mute(ScriptedEngine):
    """FAKE: answers a first question, unless `deaf`, and leaves adapters without an answer, unless `says`."""

    def __init__(self) -> None:
        super().__init__()
        self.lora = LoraCapacity(max_rank=8, max_loaded=3)
        self.asked = asyncio.Event()
        self.deaf = False
        self.says: Exception | None = None

    async def first_answer(self) -> FirstAnswer:
        if self.deaf:
            await self._wait()
        return await super().first_answer()

    async def load_adapter(self, name: str, folder: Path) -> int | None:
        if self.says:
            raise self.says
        await self._wait()
        return None

    async def _wait(self) -> None:
        self.asked.set()
        await asyncio.Event().wait()


def with_an_adapter(folder: Path) -> ServeOptions:
    """Options for a model of one layer, whose file of names lists an adapter."""
    options = options_for(folder, folder=layered_model)
    adapter(folder / "model", folder / "support")
    listed = Registration("support", NameKind.ADAPTER, f"file://{folder}/support")
    options.registrations.write_text(Registrations((Registration("one", NameKind.MODEL), listed)).to_json())
    return options


def told(server: Running) -> list[tuple[str, Phase]]:
    return [(message.failure.reason, message.failure.phase) for message in server.heard(Failed)]


@pytest.mark.parametrize("deaf", [True, False], ids=["over the first question", "over an adapter"])
async def test_an_engine_that_dies_before_ready_ends_the_start(tmp_path: Path, deaf: bool) -> None:
    engine = Mute()
    engine.deaf = deaf
    async with running(with_an_adapter(tmp_path), ready=False, engine=engine) as server:
        server.loader.go.set()
        await asyncio.wait_for(engine.asked.wait(), 10)
        engine.errored = True
        assert await server.exit_code() == 1
        assert told(server) == [("EngineDied", Phase.WARMING)]


@pytest.mark.parametrize("deaf", [True, False], ids=["over the first question", "over an adapter"])
async def test_a_stop_before_ready_waits_for_no_answer_of_the_engine(tmp_path: Path, deaf: bool) -> None:
    engine = Mute()
    engine.deaf = deaf
    async with running(with_an_adapter(tmp_path), ready=False, engine=engine) as server:
        server.loader.go.set()
        await asyncio.wait_for(engine.asked.wait(), 10)
        assert server.serving.life.phase is Phase.WARMING
        server.serving.stop()
        assert await server.exit_code() == 0
        assert server.heard(Drained) == [Drained(0, 0)]


async def test_an_engine_that_says_itself_that_it_is_gone_never_becomes_ready(tmp_path: Path) -> None:
    engine = Mute()
    engine.says = EngineGone("the engine's processes have ended")
    async with running(with_an_adapter(tmp_path), ready=False, engine=engine) as server:
        server.loader.go.set()
        await server.reach(Phase.WARMING)
        engine.errored = True
        assert await server.exit_code() == 1
        assert told(server) == [("EngineDied", Phase.WARMING)]
        assert all(message.status.phase is not Phase.READY for message in server.heard(Status))


async def test_an_engine_that_answers_and_dies_never_becomes_ready(tmp_path: Path) -> None:
    class Dies(ScriptedEngine):
        async def first_answer(self) -> FirstAnswer:
            self.errored = True
            return await super().first_answer()

    async with running(options_for(tmp_path), ready=False, engine=Dies()) as server:
        server.loader.go.set()
        assert await server.exit_code() == 1
        assert told(server) == [("EngineDied", Phase.WARMING)]
        assert all(message.status.phase is not Phase.READY for message in server.heard(Status))


async def test_an_engine_that_leaves_an_adapter_without_an_answer_never_becomes_ready(tmp_path: Path) -> None:
    engine = Mute()
    engine.says = EngineSilent("the engine did not answer within 600 seconds")
    async with running(with_an_adapter(tmp_path), ready=False, engine=engine) as server:
        server.loader.go.set()
        assert await server.exit_code() == 1
        [failed] = server.heard(Failed)
        assert (failed.failure.reason, failed.failure.phase) == ("EngineHung", Phase.WARMING)
        assert "adapter support: the engine did not answer within 600 seconds" in failed.failure.message


async def test_a_first_question_without_an_answer_ends_after_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warming, "_SECONDS", 0.2)
    engine = Mute()
    engine.deaf = True
    async with running(options_for(tmp_path), ready=False, engine=engine) as server:
        server.loader.go.set()
        assert await server.exit_code() == 1
        assert told(server) == [("NoUsableAnswer", Phase.WARMING)]


async def test_where_clients_register_a_death_before_ready_answers_whoever_registers(tmp_path: Path) -> None:
    engine = Mute()
    engine.deaf = True
    async with alone(tmp_path, engine=engine) as one:
        registering = asyncio.ensure_future(one.register("mine"))
        await asyncio.wait_for(engine.asked.wait(), 10)
        engine.errored = True
        refused = await asyncio.wait_for(registering, 10)
        assert (refused.status_code, error_of(refused)["type"]) == (503, "EngineDied")
        assert engine.stopped
        assert one.phase is Phase.EMPTY
