"""Recorded ends of the real engine, replayed against the diagnosis.

`recordings/NAME/log.txt` is the end of a log of vLLM 0.32 (CPU), shortened to what matters; `expected.json` is what
people get to read, `reason: null` where the log tells no cause.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from arriero_api.reasons import REASONS
from arriero_runtime.diagnosis import Diagnosis

RECORDINGS = sorted((Path(__file__).parent / "recordings").iterdir())


def replay(lines: list[str]) -> dict[str, Any]:
    diagnosis = Diagnosis()
    for line in lines:
        diagnosis.feed(line)
    failure = diagnosis.failure()
    if failure is None:
        return {"reason": None}
    return {"reason": failure.reason, "details": dict(failure.details), "message": failure.message}


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_a_recorded_end_gets_its_reason_and_words(recording: Path) -> None:
    expected = json.loads((recording / "expected.json").read_text())
    assert replay((recording / "log.txt").read_text().splitlines()) == expected
    assert expected["reason"] is None or expected["reason"] in REASONS


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_the_reason_does_not_hang_on_time_stamps_process_ids_or_line_numbers(recording: Path) -> None:
    expected = json.loads((recording / "expected.json").read_text())
    lines = [
        re.sub(r"\.py:(?=\d)", ".py:77", re.sub(r" 11-29 \d\d:", " 01-02 03:", line)).replace("pid=", "pid=9")
        for line in (recording / "log.txt").read_text().splitlines()
    ]
    assert replay(lines)["reason"] == expected["reason"]


def test_there_are_recordings_of_every_first_reason() -> None:
    reasons = {json.loads((recording / "expected.json").read_text())["reason"] for recording in RECORDINGS}
    assert reasons >= {
        "InvalidArguments",
        "ContextTooLong",
        "SharedMemoryTooSmall",
        "ModelUnsupported",
        "ModelIncomplete",
        "ModelNotFound",
        "RevisionNotFound",
        "Unauthorized",
        "SourceUnreachable",
        "DownloadFailed",
        "WeightsInvalid",
        "EngineFailed",
    }
