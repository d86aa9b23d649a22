"""The cache volume: full, read-only, of several pods; and no request where none is allowed."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from arriero_runtime.failing import StartError
from arriero_runtime.sources import access, download, locking, space, transfer
from arriero_runtime.sources.meter import FETCHED
from tests.hub import Fault, Hub
from tests.runtime.sources.support import WEIGHTS, Told, failure, fetch, model

NAME = "team/model"
URI = f"hf://{NAME}"
MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("number", "reason"),
    [(errno.ENOSPC, "CacheTooSmall"), (errno.EDQUOT, "CacheTooSmall"), (errno.EROFS, "CacheUnusable")],
)
async def test_a_disk_that_refuses_to_be_written_is_told_by_its_own_reason(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, reason: str
) -> None:
    hub.add_repo(NAME, model(tmp_path / "repo"))

    def refuse(file: IO[bytes], chunk: bytes) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(transfer, "_write", refuse)
    found = await failure(tmp_path, URI)
    assert (found.reason, NAME in found.message) == (reason, True)


def hold(file: Path, size: int) -> None:
    """Fill so many bytes of the disk."""
    file.parent.mkdir(parents=True)
    with file.open("wb") as opened:
        os.posix_fallocate(opened.fileno(), 0, size)


async def test_the_limit_is_for_all_that_the_volume_holds_and_the_refusal_names_it(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add_repo(NAME, model(tmp_path / "repo"))
    monkeypatch.setenv(space.LIMIT_VARIABLE, str(80 * MIB))
    hold(tmp_path / "cache" / "models" / "old--model" / "c" / "model.safetensors", 12 * MIB)
    hold(tmp_path / "cache" / "vllm" / "torch" / "compiled", 6 * MIB)
    found = await failure(tmp_path, URI)
    assert found.reason == "CacheTooSmall"
    assert (
        "needs 2 MiB (and 64 MiB beside it): its limit (spec.cache.emptyDir.sizeLimit) is 80 MiB, of which 18 MiB are "
        "taken: models/old--model 12 MiB, vllm/torch 6 MiB."
    ) in found.message
    assert found.details["availableBytes"] == 62 * MIB
    assert not any("resolve" in seen.path for seen in hub.requests)
    (tmp_path / "cache" / "vllm" / "torch" / "compiled").unlink()
    assert (await fetch(tmp_path, URI)).is_dir()


def test_what_is_there_of_a_fetch_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(space.LIMIT_VARIABLE, str(80 * MIB))
    partial = tmp_path / "models" / "m" / "c.partial"
    hold(partial / "model.safetensors.part", 14 * MIB)
    with space.kept("m", tmp_path, partial, 16 * MIB, 14 * MIB):
        pass
    with pytest.raises(StartError, match="CacheTooSmall"), space.kept("m", tmp_path, partial, 17 * MIB, 14 * MIB):
        pass


def test_fetches_at_the_same_time_do_not_count_on_the_same_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(space.LIMIT_VARIABLE, str(80 * MIB))
    one, other = (tmp_path / "adapters" / name / "c.partial" for name in ("one", "other"))
    with space.kept("one", tmp_path, one, 9 * MIB, 0):
        with (
            pytest.raises(StartError, match=r"taken: adapters/one 9 MiB"),
            space.kept("o", tmp_path, other, 8 * MIB, 0),
        ):
            pass
        with space.kept("other", tmp_path, other, 3 * MIB, 0):
            space.keep_more(other, 4 * MIB)
            with pytest.raises(StartError, match=r"for other, which needs 8 MiB"):
                space.keep_more(other, MIB)
    with space.kept("other", tmp_path, other, 8 * MIB, 0):
        pass


async def test_a_cache_that_may_not_be_written_at_all_is_unusable(hub: Hub, tmp_path: Path) -> None:
    hub.add_repo(NAME, model(tmp_path / "repo"))
    (tmp_path / "cache").write_text("no folder")
    found = await failure(tmp_path, URI)
    assert found.reason in ("CacheUnusable", "DownloadFailed")
    assert "cache volume" in found.message


HOLDER = """
import fcntl, signal, sys
with open(sys.argv[1], "w") as handle:
    fcntl.flock(handle, fcntl.LOCK_EX)
    print("held", flush=True)
    signal.pause()
"""


async def test_a_holder_that_is_killed_gives_the_lock_back_and_the_wait_is_told(hub: Hub, tmp_path: Path) -> None:
    commit = hub.add_repo(NAME, model(tmp_path / "repo"))
    target = download.folder(tmp_path / "cache", NAME, commit)
    target.parent.mkdir(parents=True)
    with holder(target.with_name(f"{commit}.lock")) as kill:
        told = Told()

        def report(percent: int, words: str) -> None:
            told(percent, words)
            kill()

        assert await fetch(tmp_path, URI, told=report) == target
    assert told.words[0].startswith("another pod fetches it: 0 of ")


async def test_bytes_that_were_there_or_that_another_pod_fetches_are_not_counted(hub: Hub, tmp_path: Path) -> None:
    commit = hub.add_repo(NAME, model(tmp_path / "repo"))
    target = download.folder(tmp_path / "cache", NAME, commit)
    partial = target.with_name(f"{commit}.partial")
    partial.mkdir(parents=True)
    (partial / "model.safetensors.part").write_bytes(WEIGHTS[:1000])
    before = FETCHED.bytes
    with holder(target.with_name(f"{commit}.lock")) as kill:

        def report(percent: int, words: str) -> None:
            """As if the other pod had fetched some more, before it ended."""
            if words.startswith("another pod"):
                (partial / "model.safetensors.part").write_bytes(WEIGHTS[:5000])
                kill()

        await fetch(tmp_path, URI, told=report)
    assert FETCHED.bytes - before == len(WEIGHTS) - 5000 + len("{}") * 2


@contextmanager
def holder(lock: Path) -> Iterator[Callable[[], None]]:
    """Another process holds the lock; what is given kills it."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(lock)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"held\n"
            yield process.kill
        finally:
            process.kill()


def test_a_wait_that_is_not_wanted_any_more_ends(tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def enough() -> None:
        raise Enough

    with (
        locking.alone(tmp_path / "lock", enough),
        pytest.raises(Enough),
        locking.alone(tmp_path / "lock", enough),
    ):
        raise AssertionError("there is one holder")


async def test_off_line_nothing_is_asked_and_what_is_there_is_served(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add_repo(NAME, model(tmp_path / "repo"))
    folder = await fetch(tmp_path, URI)
    monkeypatch.setattr(access, "OFFLINE", True)
    asked = len(hub.requests)
    assert await fetch(tmp_path, URI) == folder
    found = await failure(tmp_path, "hf://team/other")
    assert (found.reason, "HF_HUB_OFFLINE" in found.message) == ("SourceOffline", True)
    for uri in ("s3://bucket/model", "https://localhost:1/model"):
        assert (await failure(tmp_path, uri)).reason == "SourceOffline"
    assert len(hub.requests) == asked


async def test_a_hub_that_asks_to_wait_a_little_is_waited_for(hub: Hub, tmp_path: Path) -> None:
    hub.add_repo(NAME, model(tmp_path / "repo"))
    hub.fault(Fault(path="api", status=429, retry_after=1, times=1))
    hub.fault(Fault(path="model.safetensors", status=429, retry_after=1, times=1))
    assert (await fetch(tmp_path, URI)).is_dir()


async def test_small_files_are_checked_by_their_git_ids(hub: Hub, tmp_path: Path) -> None:
    hub.add_repo(NAME, model(tmp_path / "repo"))
    hub.fault(Fault(path="config.json", garbled=True, times=1))
    found = await failure(tmp_path, URI)
    assert (found.reason, "config.json" in found.message) == ("ChecksumMismatch", True)
