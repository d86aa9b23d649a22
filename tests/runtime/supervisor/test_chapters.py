"""Where clients register one model after the other, each failure is told with what the log of its own engine says."""

import json
from pathlib import Path
from typing import Any

import httpx

from arriero_api.contract import Failure, Phase
from arriero_runtime.diagnosis import Diagnosis
from arriero_runtime.messages import LOG_MARK, Told
from arriero_runtime.supervisor.chapters import Chapters
from tests.runtime.server.harness import NO_TENSORS
from tests.runtime.supervisor.conftest import Starter
from tests.runtime.supervisor.harness import Supervised, free_port, until

RECORDING = Path(__file__).parents[2] / "engine_failures" / "recordings" / "model-hd16"
LINE = "(Worker pid=7) ERROR 01-31 12:00:00 [x.py:1] RuntimeError: something that nobody knows"


def model(parent: Path, log: str) -> Path:
    """The folder of a model that fails with this log."""
    parent.mkdir()
    (parent / "config.json").write_text("{}")
    (parent / "model.safetensors").write_bytes(NO_TENSORS)
    (parent / "log.txt").write_text(log)
    return parent


def refused(port: int, folder: Path) -> dict[str, Any]:
    """The answer to its registration."""
    answer = httpx.post(
        f"http://127.0.0.1:{port}/v1/models", json={"model_id": "m", "provider_model_id": str(folder)}, timeout=30
    )
    return {"status": answer.status_code, **answer.json()["error"]}


def until_empty(supervised: Supervised) -> None:
    def empty() -> bool:
        status = supervised.status()
        return status is not None and status.phase is Phase.EMPTY

    until(empty, "the server without a model")


def test_a_failed_registration_is_answered_with_the_cause_from_the_engines_log(start: Starter, tmp_path: Path) -> None:
    expected = json.loads((RECORDING / "expected.json").read_text())
    port = free_port()
    args = f"--allow-registration --cache-dir={tmp_path} --port={port}"
    supervised = start("none", args=args, server="failing_server")
    until_empty(supervised)
    known = refused(port, model(tmp_path / "known", (RECORDING / "log.txt").read_text()))
    assert (known["status"], known["type"]) == (400, expected["reason"])
    assert expected["message"] in known["message"]
    status = supervised.status()
    assert status is not None and status.failure is not None
    assert status.failure.reason == expected["reason"]
    unknown = refused(port, model(tmp_path / "unknown", "INFO all is well\n"))
    assert (unknown["status"], unknown["type"]) == (503, "EngineFailed")
    assert "The server's log says why" in unknown["message"]
    other = refused(port, model(tmp_path / "other", f"{LINE}\n"))
    assert "something that nobody knows" in other["message"]


def test_a_killed_engine_is_told_before_what_its_log_says() -> None:
    told: list[Told] = []
    killed = [Failure("OOMKilled", "for its memory", "more memory", Phase.FAILED), None]
    chapters = Chapters(Diagnosis(), lambda: killed.pop(0), told.append)
    for number in (1, 2):
        chapters.feed(LINE)
        chapters.feed(f"2026-01-31 12:00:00,000 INFO x: {LOG_MARK} {number}")
    assert [(one.number, one.failure and one.failure.reason) for one in told] == [(1, "OOMKilled"), (2, "EngineFailed")]


def test_where_clients_register_models_the_remedy_is_for_them(start: Starter) -> None:
    supervised = start("says_unknown_but_logs_the_cause", args="--allow-registration", last_words=1)
    supervised.ended()
    found = supervised.failure()
    assert found is not None
    assert (found.reason, found.remedy) == ("SharedMemoryTooSmall", "Make /dev/shm larger.")
