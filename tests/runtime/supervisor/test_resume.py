"""What a container has fetched before its end is not fetched again by the next one of the pod."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub import Fault, Hub
from tests.runtime.supervisor.conftest import Starter
from tests.runtime.supervisor.harness import Supervised, free_port, until

NAME = "acme/small"
SIZE = 8_000_000


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    """A hub with one model, whose weights it sends slowly."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama"}')
    (folder / "pytorch_model.bin").write_bytes(bytes(range(200)) * (SIZE // 200))
    with Hub.start() as hub:
        hub.add_repo(NAME, folder)
        hub.fault(Fault(path="*.bin", bytes_per_second=2_000_000))
        yield hub


def test_a_download_goes_on_in_the_next_container(
    hub: Hub, start: Starter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    names = tmp_path / "names.json"
    names.write_text('{"schemaVersion": 1, "names": [{"name": "one", "kind": "Model"}]}')

    def container() -> Supervised:
        args = f"--model=hf://{NAME} --registrations={names} --cache-dir={tmp_path} --port={free_port()}"
        return start("none", args=args, server="scripted_server")

    first = container()
    until(lambda: (status := first.status()) and (status.progress.percent or 0) >= 30, "a third of it")
    first.clean()
    hub.clear_faults()
    asked = len(hub.requests)
    second = container()
    second.until_ready()
    ranges = [seen.range for seen in hub.requests[asked:] if seen.path.endswith(".bin") and seen.method == "GET"]
    assert ranges and all(int(one.removeprefix("bytes=").split("-")[0] or 0) > SIZE / 5 for one in ranges), ranges
