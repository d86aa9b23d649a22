"""With a cache that other pods use too, the engine of a start finds what an earlier start has compiled."""

import asyncio
import tarfile
from pathlib import Path

from arriero_api.contract import Phase
from arriero_runtime.cli import ServeOptions
from tests.runtime.alone.harness import alone
from tests.runtime.server.harness import options_for, running
from tests.support.eventually import eventually_async

KERNEL = "triton/kernel.so"


def pod(tmp_path: Path, state: str, *extra: str) -> ServeOptions:
    """The options of a pod; each has a state folder of its own."""
    (tmp_path / state).mkdir()
    (tmp_path / "cache").mkdir(exist_ok=True)
    folder = tmp_path / state / "home"
    folder.mkdir()
    return options_for(folder, ["--cache-dir", str(tmp_path / "cache"), "--state-dir", str(tmp_path / state), *extra])


def compiled_in(cache: Path) -> list[Path]:
    return list(cache.glob("compiled/*.tar.gz"))


def archives(tmp_path: Path) -> list[Path]:
    return compiled_in(tmp_path / "cache")


async def test_a_second_pod_starts_with_what_the_first_has_compiled(tmp_path: Path) -> None:
    first = pod(tmp_path, "first", "--shared-cache")
    async with running(first, ready=False) as server:
        await server.reach(Phase.LOADING)
        made = first.state_dir / "engine" / KERNEL
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text("code")
        server.loader.go.set()
        await server.reach(Phase.READY)
        await eventually_async(lambda: archives(tmp_path))
    second = pod(tmp_path, "second", "--shared-cache", "--model", first.model)
    async with running(second, ready=False) as server:
        await eventually_async(lambda: server.loader.loads)
        assert (second.state_dir / "engine" / KERNEL).read_text() == "code"
        server.loader.go.set()
        await server.reach(Phase.READY)


async def test_a_cache_of_the_pod_alone_is_used_in_place(tmp_path: Path) -> None:
    options = pod(tmp_path, "only")
    async with running(options):
        assert not (options.state_dir / "engine").exists()
    assert archives(tmp_path) == []


async def test_each_model_that_a_client_registers_leaves_an_archive_of_its_own_code_alone(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    async with alone(tmp_path, "--shared-cache", f"--state-dir={state}", loads=False) as one:
        for number, model in enumerate((one.a, one.b), 1):
            one.server.loader.go.clear()
            registering = asyncio.ensure_future(one.register("mine", model))
            await eventually_async(lambda: one.phase is Phase.LOADING and one.server.loader.loads == number)  # noqa: B023
            made = state / "engine" / "triton" / f"{model.name}.so"
            made.parent.mkdir(parents=True, exist_ok=True)
            made.write_text("code")
            one.server.loader.go.set()
            assert (await registering).status_code == 200
            assert (await one.unregister("mine")).status_code == 200
        await eventually_async(lambda: len(compiled_in(tmp_path)) == 2)
    kept = []
    for archive in compiled_in(tmp_path):
        with tarfile.open(archive) as tar:
            kept.append(tar.getnames())
    assert sorted(kept) == [["triton/a.so"], ["triton/b.so"]]
