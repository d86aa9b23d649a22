"""Adapters that are not wanted any more before they are there; threads that are all taken."""

import asyncio
import fcntl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from arriero_api.contract import Phase, Registration
from arriero_runtime.failing import start_error
from arriero_runtime.server import fetches, leftovers
from arriero_runtime.sources.adapters import Obtained, obtain
from tests.hub import Hub
from tests.models.lora import adapter
from tests.runtime.server.harness import Running, options_for, running
from tests.runtime.server.test_adapters import REPOSITORY, entry, prepare, state, write
from tests.support.eventually import eventually_async


class Watched:
    """In place of `obtain`: which revisions are being obtained now, and by how many in all."""

    def __init__(self) -> None:
        self.now: list[str] = []
        self.begun = 0
        self.hold: threading.Event | None = None

    def is_at(self, revision: str) -> bool:
        return self.now == [revision]

    def __call__(self, wanted: Registration, *args: Any, **more: Any) -> Obtained:
        self.now.append(wanted.revision)
        self.begun += 1
        try:
            if self.hold is not None:
                self.hold.wait(20)
                raise start_error("SourceUnreachable", "nobody there", Phase.RESOLVING)
            return obtain(wanted, *args, **more)
        finally:
            self.now.remove(wanted.revision)


def asked_for(server: Running, revision: str) -> bool:
    """Whether the server knows that this one is wanted."""
    now = state(server, "support")
    return now is not None and now.revision == revision


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    found = Watched()
    monkeypatch.setattr("arriero_runtime.sources.adapters.obtain", found)
    yield found
    if found.hold is not None:
        found.hold.set()


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """As another pod that fetches."""
    file.parent.mkdir(parents=True)
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


async def test_a_fetch_ends_when_its_entry_goes_or_changes_also_while_it_waits_for_another_pod(
    tmp_path: Path, hub: Hub, watched: Watched
) -> None:
    options, engine = prepare(tmp_path)
    commit = hub.add_repo(REPOSITORY, adapter(tmp_path / "model", tmp_path / "a"))
    with locked(tmp_path / "adapters" / REPOSITORY.replace("/", "--") / f"{commit}.lock"):
        async with running(options, engine=engine) as server:
            for revision in ("main", commit):
                write(options.registrations, entry("support", f"hf://{REPOSITORY}", revision))
                await eventually_async(partial(watched.is_at, revision))
            write(options.registrations)
            await eventually_async(lambda: not watched.now)
            assert watched.begun == 2
            assert state(server, "support") is None


async def test_a_source_that_does_not_answer_takes_no_threads_of_others(tmp_path: Path, watched: Watched) -> None:
    watched.hold = threading.Event()
    options, engine = prepare(tmp_path)
    shared = ThreadPoolExecutor(2)
    asyncio.get_running_loop().set_default_executor(shared)
    async with running(options, engine=engine) as server:
        for number in range(6):
            write(options.registrations, entry("support", f"hf://{REPOSITORY}", f"v{number}"))
            await eventually_async(partial(asked_for, server, f"v{number}"))
        assert await asyncio.wait_for(asyncio.to_thread(threading.active_count), 5)
        assert len(watched.now) <= fetches.AT_ONCE
        watched.hold.set()


async def test_what_comes_although_nobody_waits_any_more_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "_ENGINE_SECONDS", 0.0)
    options, engine = prepare(tmp_path)
    folder, begun, go = tmp_path / "adapters" / "a--b" / "commit", threading.Event(), threading.Event()
    folder.mkdir(parents=True)

    def late(*args: Any, **more: Any) -> Obtained:
        begun.set()
        go.wait(20)
        return Obtained(folder, "commit")

    monkeypatch.setattr("arriero_runtime.sources.adapters.obtain", late)
    async with running(options, engine=engine) as server:
        write(options.registrations, entry("support", f"hf://{REPOSITORY}"))
        await eventually_async(begun.is_set)
        write(options.registrations)
        await eventually_async(lambda: state(server, "support") is None)
        go.set()
        await eventually_async(lambda: not folder.exists())


async def test_the_end_waits_for_no_thread_of_others(tmp_path: Path) -> None:
    options = options_for(tmp_path)
    held = threading.Event()
    async with running(options) as server:
        shared = ThreadPoolExecutor(1)
        asyncio.get_running_loop().set_default_executor(shared)
        shared.submit(held.wait, 30)
        try:
            server.serving.stop()
            assert server.exit is not None
            assert await asyncio.wait_for(asyncio.shield(server.exit), 10) == 0
        finally:
            held.set()
