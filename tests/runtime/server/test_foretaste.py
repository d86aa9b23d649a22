"""The look at a model's configuration before its weights are there."""

import asyncio
import tempfile
from pathlib import Path

import pytest

from arriero_runtime.server.foretaste import Foretaste


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where copies are made."""
    folder = tmp_path / "copies"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def fetched(tmp_path: Path) -> Path:
    folder = tmp_path / "fetched"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"")
    return folder


def inside(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


async def test_the_copy_has_no_weights_and_goes_with_its_start(fetched: Path, copies: Path) -> None:
    foretaste = Foretaste(())
    await asyncio.to_thread(foretaste.look, fetched)
    found = await foretaste.folder()
    assert found is not None
    assert inside(found) == {"config.json"}
    foretaste.close()
    assert inside(copies) == set()


async def test_a_transfer_that_comes_so_far_after_the_end_of_its_start_leaves_nothing(
    fetched: Path, copies: Path
) -> None:
    foretaste = Foretaste(())
    foretaste.close()
    await asyncio.to_thread(foretaste.look, fetched)
    assert inside(copies) == set()
    assert await foretaste.folder() is None


async def test_modules_in_folders_are_copied_and_what_came_of_the_weights_is_not(fetched: Path, copies: Path) -> None:
    (fetched / "parts").mkdir()
    (fetched / "parts" / "layers.py").write_text("")
    (fetched / "model.safetensors.part").write_bytes(b"")
    foretaste = Foretaste(())
    await asyncio.to_thread(foretaste.look, fetched)
    found = await foretaste.folder()
    assert found is not None
    assert {str(file.relative_to(found)) for file in found.rglob("*.*")} == {"config.json", "parts/layers.py"}
    foretaste.close()
