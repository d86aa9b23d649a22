"""Models that were fetched earlier go where another one needs their room, and only then."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from arriero_runtime.failing import StartError
from arriero_runtime.sources import locking, obtain, space
from tests.hub import Hub
from tests.runtime.sources.support import Told, model

MIB = 1024 * 1024
MARGIN = 64 * MIB


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """With models of 4 MiB, and one of 40."""
    with Hub.start() as found:
        monkeypatch.setenv("HF_ENDPOINT", found.url)
        monkeypatch.delenv("HF_TOKEN", raising=False)
        for name in ("a", "b", "c", "large"):
            found.add_repo(f"team/{name}", model(tmp_path / name, bytes((40 if name == "large" else 4) * MIB)))
        # Two of the small ones, and what they need beside them.
        monkeypatch.setenv(space.LIMIT_VARIABLE, str(MARGIN + 10 * MIB))
        yield found


async def fetch(folder: Path, name: str, displaces: bool = True) -> Path:
    wanted = obtain.Wanted(f"hf://team/{name}", "", "", folder / "cache", displaces=displaces)
    return await (await obtain.resolve(wanted)).fetch(Told())


async def test_the_model_that_was_used_longest_ago_goes_for_another_and_can_come_back(hub: Hub, tmp_path: Path) -> None:
    a, b = await fetch(tmp_path, "a"), await fetch(tmp_path, "b")
    assert await fetch(tmp_path, "a") == a
    c = await fetch(tmp_path, "c")
    assert [folder.is_dir() for folder in (a, b, c)] == [True, False, True]
    assert await fetch(tmp_path, "b") == b
    assert [folder.is_dir() for folder in (a, b, c)] == [False, True, True]
    assert (b / "model.safetensors").stat().st_size == 4 * MIB
    assert not b.with_name(f"{b.name}.partial").exists()


async def test_nothing_goes_for_a_model_that_would_not_fit_all_the_same(hub: Hub, tmp_path: Path) -> None:
    a = await fetch(tmp_path, "a")
    with pytest.raises(StartError, match="CacheTooSmall"):
        await fetch(tmp_path, "large")
    assert a.is_dir()


async def test_nothing_goes_where_others_use_the_cache_too(hub: Hub, tmp_path: Path) -> None:
    there = [await fetch(tmp_path, name) for name in ("a", "b")]
    with pytest.raises(StartError, match="CacheTooSmall"):
        await fetch(tmp_path, "c", displaces=False)
    assert all(folder.is_dir() for folder in there)


async def test_what_was_not_fetched_and_what_is_being_fetched_stays(hub: Hub, tmp_path: Path) -> None:
    own = model(tmp_path / "cache" / "models" / "mine" / "original", bytes(4 * MIB))
    a = await fetch(tmp_path, "a")
    with locking.alone(a.with_name(f"{a.name}.lock"), lambda: None), pytest.raises(StartError, match="CacheTooSmall"):
        await fetch(tmp_path, "b")
    assert a.is_dir()
    assert (await fetch(tmp_path, "b")).is_dir()
    assert (own.is_dir(), a.is_dir()) == (True, False)


async def test_what_an_interrupted_fetch_has_left_goes_too(hub: Hub, tmp_path: Path) -> None:
    a, b = await fetch(tmp_path, "a"), await fetch(tmp_path, "b")
    left = a.rename(a.with_name(f"{a.name}.partial"))
    assert (await fetch(tmp_path, "c")).is_dir()
    assert (left.is_dir(), b.is_dir()) == (False, True)
