"""With a cache that other pods use too, the engine of a start finds what an earlier start has compiled."""

from pathlib import Path

from arriero_api.contract import Phase
from arriero_runtime.cli import ServeOptions
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


def archives(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "cache").glob("compiled/*.tar.gz"))


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
