"""What a start does before the engine loads: arguments, configuration and weights, each as early as it can be."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from arriero_api.contract import Phase, Progress
from arriero_runtime.cli import ServeOptions
from arriero_runtime.failing import start_error
from arriero_runtime.messages import Drained, Failed, Status
from tests.hub import Fault, Hub
from tests.models.edited import Tensor, write
from tests.runtime.server.harness import Running, options_for, running
from tests.support.eventually import eventually_async

NAME = "somebody/model"
WEIGHTS = "model.safetensors"


@pytest.fixture
def options(hub: Hub, tmp_path: Path) -> ServeOptions:
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 2048}))
    (folder / "tokenizer.json").write_text("{}")
    write(folder / WEIGHTS, {"some": Tensor("BF16", (8192, 1024), bytes(16 * 1024 * 1024))})
    hub.add_repo(NAME, folder)
    return replace(options_for(tmp_path), model=f"hf://{NAME}")


def asked_for_weights(hub: Hub) -> bool:
    return any(seen.method == "GET" and seen.path.endswith(WEIGHTS) for seen in hub.requests)


def last_progress(server: Running) -> Progress:
    return server.heard(Status)[-1].status.progress


def reasons(server: Running) -> list[str]:
    return [message.failure.reason for message in server.heard(Failed)]


async def test_a_context_that_is_too_long_is_told_before_any_weights_are_fetched(
    hub: Hub, options: ServeOptions
) -> None:
    server = Running(options)
    server.loader.flags = ("--max-model-len=4096",)
    assert await asyncio.wait_for(server.serving.run(), 20) == 1
    assert reasons(server) == ["ContextTooLong"]
    assert not asked_for_weights(hub)
    await server.close()


async def test_arguments_are_checked_while_the_weights_come(hub: Hub, options: ServeOptions) -> None:
    async with running(options, ready=False) as server:
        server.loader.checked.clear()
        await eventually_async(lambda: asked_for_weights(hub))
        # Once all is there, phase and message say what is waited for, not how fast the last bytes came.
        await eventually_async(lambda: "the engine checks its arguments" in last_progress(server).message)
        assert (server.serving.life.phase, last_progress(server).percent) == (Phase.LOADING, None)
        assert server.loader.loaded is None
        server.loader.go.set()
        server.loader.checked.set()
        await server.reach(Phase.READY)
        assert server.loader.loaded is not None


async def test_where_nothing_is_fetched_the_phase_is_that_of_the_engine_while_it_checks_its_arguments(
    tmp_path: Path,
) -> None:
    async with running(options_for(tmp_path), ready=False) as server:
        server.loader.checked.clear()
        await eventually_async(lambda: server.serving.life.phase is Phase.LOADING)
        assert "the engine checks its arguments" in server.serving.life.status.progress.message
        server.loader.go.set()
        server.loader.checked.set()
        await server.reach(Phase.READY)
        assert Phase.DOWNLOADING not in {message.status.phase for message in server.heard(Status)}


async def test_wrong_arguments_end_a_download(hub: Hub, options: ServeOptions) -> None:
    hub.fault(Fault(path=WEIGHTS, bytes_per_second=4_000_000))
    async with running(options, ready=False) as server:
        server.loader.checked.clear()
        await eventually_async(lambda: asked_for_weights(hub))
        server.loader.refuse = start_error("InvalidArguments", "--frobnicate is unknown", Phase.RESOLVING)
        server.loader.checked.set()
        assert await server.exit_code() == 1
        assert reasons(server) == ["InvalidArguments"]


async def test_a_stop_ends_a_download(hub: Hub, options: ServeOptions) -> None:
    hub.fault(Fault(path=WEIGHTS, bytes_per_second=1_000_000))
    async with running(options, ready=False) as server:
        await eventually_async(lambda: asked_for_weights(hub))
        assert server.serving.life.phase is Phase.DOWNLOADING
        server.serving.stop()
        assert await server.exit_code() == 0
        assert server.heard(Drained) == [Drained(0, 0)]
        assert server.loader.loaded is None


async def test_the_engine_sees_the_configuration_while_the_weights_come(hub: Hub, options: ServeOptions) -> None:
    hub.fault(Fault(path=WEIGHTS, bytes_per_second=4_000_000))
    async with running(options, ready=False) as server:
        server.loader.unfit = start_error("ModelUnsupported", "no such architecture", Phase.DOWNLOADING)
        assert await server.exit_code() == 1
        assert reasons(server) == ["ModelUnsupported"]
        assert server.loader.seen == {"config.json", "tokenizer.json"}
        assert server.loader.loaded is None


async def test_weights_that_are_not_whole_never_reach_the_engine(tmp_path: Path) -> None:
    options = options_for(tmp_path)
    weights = Path(options.model.removeprefix("file://")) / WEIGHTS
    names = [f"model.layers.{index}.self_attn.{one}_proj.weight" for index in (0, 1) for one in "qkvo"]
    write(weights, {name: Tensor("BF16", (2,), bytes(4)) for name in ["model.embed_tokens.weight", *names[:-1]]})
    async with running(options, ready=False) as server:
        assert await server.exit_code() == 1
        told = [message.failure for message in server.heard(Failed)]
        assert [one.reason for one in told] == ["WeightsInvalid"]
        assert "model.layers.1.self_attn.o_proj" in told[0].message
        assert server.loader.loaded is None


@pytest.mark.parametrize("trusted", [True, False])
async def test_the_engine_is_given_the_model_s_code_where_the_resource_allows_it(
    hub: Hub, options: ServeOptions, tmp_path: Path, trusted: bool
) -> None:
    (tmp_path / "repository" / "modeling_own.py").write_text("")
    hub.add_repo(NAME, tmp_path / "repository")
    async with running(replace(options, trust_remote_code=trusted)) as server:
        assert server.loader.loaded is not None
        assert (
            (server.loader.loaded / "modeling_own.py").exists() == ("modeling_own.py" in server.loader.seen) == trusted
        )
