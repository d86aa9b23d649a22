"""A hub with one small model, and the real client pointed at it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub import Hub

NAME = "acme/small"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model folder: a small file, a nested one, and a large one of 200 kB."""
    folder = tmp_path / "model"
    (folder / "onnx").mkdir(parents=True)
    (folder / "config.json").write_text('{"model_type": "llama"}')
    (folder / "onnx" / "notes.txt").write_text("nested\n")
    (folder / "model.safetensors").write_bytes(bytes(range(200)) * 1000)
    return folder


@pytest.fixture
def hub(folder: Path) -> Iterator[Hub]:
    """A hub that has the folder as acme/small."""
    with Hub.start() as hub:
        hub.add_repo(NAME, folder)
        yield hub
