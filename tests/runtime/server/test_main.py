"""What the server's process does for itself before it serves."""

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from arriero_api import pod
from arriero_runtime.server import __main__ as server


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_the_garbage_collector_leaves_the_objects_of_many_streams_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    arguments = ["serve", "--model=hf://acme/tiny", f"--cache-dir={tmp_path / 'file' / 'below'}"]
    monkeypatch.setattr(sys, "argv", ["server", *arguments])
    monkeypatch.setattr("arriero_runtime.server.log.begin", lambda: None)
    monkeypatch.delenv(pod.CACHE_LIMIT_VARIABLE, raising=False)
    assert server.main() == 1  # its cache cannot be written
    assert gc.get_threshold() == (10_000, 10, 10)
