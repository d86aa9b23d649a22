"""Recorded processes, without any Kubernetes."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import ClusterError
from tests.cluster.processes import Configuration, Records, end, marked
from tests.cluster.waiting import until

IDLE = [sys.executable, "-c", "import time; time.sleep(300)"]


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    yield Records(tmp_path)
    end(marked(tmp_path), grace=0)


def test_a_running_process_with_the_same_arguments_is_kept(records: Records) -> None:
    records.keep("idle", IDLE)
    before = records.running("idle")
    records.keep("idle", IDLE)
    assert before is not None
    assert records.running("idle") == before


def test_other_arguments_or_another_configuration_replace_the_process(records: Records) -> None:
    path = records.folder / "settings"
    seen = set()
    for argv, text in ((IDLE, "a"), ([*IDLE, "more"], "a"), ([*IDLE, "more"], "b")):
        records.keep("idle", argv, Configuration(path, text))
        seen.add(records.running("idle"))
        assert path.read_text() == text
    assert len(seen) == 3
    assert len(marked(records.folder)) == 1


def test_a_pid_that_the_kernel_gave_to_somebody_else_is_not_touched(records: Records) -> None:
    records.keep("idle", IDLE)
    process = records.running("idle")
    assert process is not None
    path = records.folder / "processes" / "idle.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "birth": record["birth"] + 1}))
    assert records.running("idle") is None
    records.end("idle")
    assert process.alive()


def test_a_process_that_ended_is_reported_with_its_last_words(records: Records) -> None:
    records.keep("brief", [sys.executable, "-c", "import sys; sys.exit('no such luck')"])
    until(lambda: records.running("brief") is None, 10, "it has ended")
    with pytest.raises(ClusterError, match="no such luck"):
        records.require("brief")


def test_proxies_of_the_environment_do_not_reach_the_processes(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.test:1")
    records.keep("idle", IDLE)
    process = records.running("idle")
    assert process is not None
    assert b"HTTPS_PROXY" not in Path(f"/proc/{process.pid}/environ").read_bytes()
