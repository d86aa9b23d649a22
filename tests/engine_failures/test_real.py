"""Each known failure with the real engine: the runtime names it, tells what to do, and leaves nothing behind."""

import json
import os
from pathlib import Path

import pytest

from arriero_api.reasons import REASONS
from tests.engine_failures.cases import SERVES, STARTS, Case
from tests.engine_failures.rig import play

pytestmark = pytest.mark.full


@pytest.mark.parametrize("case", STARTS, ids=lambda case: case.name)
def test_a_real_start_is_explained(case: Case, tmp_path: Path) -> None:
    found = play(case, tmp_path)
    _record(case, found.failure and json.loads(found.failure.to_json()), found.seconds, found.exit_code)
    assert not found.left
    if case.reason == SERVES:
        assert found.failure is None, found.failure
        assert found.exit_code == 0, found.log[-3000:]
        return
    assert found.failure is not None, found.log[-3000:]
    assert (found.failure.reason, dict(found.failure.details)) == (case.reason, dict(case.details)), found.failure
    assert case.words in found.failure.message
    assert found.failure.remedy
    assert found.failure.reason in REASONS


def _record(case: Case, failure: object, seconds: float, code: int) -> None:
    """One line for the documentation, where a file for them is named."""
    if target := os.environ.get("ENGINE_FAILURES_RECORD"):
        with Path(target).open("a") as file:
            line = {"name": case.name, "failure": failure, "seconds": round(seconds, 1), "code": code}
            file.write(json.dumps(line) + "\n")
