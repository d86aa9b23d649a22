"""The demo itself, as a person starts it."""

import subprocess
import sys
import time

import pytest

from tests.demo.tools import CHECKOUT

pytestmark = [pytest.mark.full, pytest.mark.node, pytest.mark.engine]

_FIRST_SECONDS = 3600
_AGAIN_SECONDS = 240


def _play(seconds: float) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tests.demo"], cwd=CHECKOUT, capture_output=True, text=True, timeout=seconds
    )
    assert done.returncode == 0, f"{done.stdout[-5000:]}\n{done.stderr[-5000:]}"
    return done.stdout


def test_the_demo_keeps_its_promises_and_again_within_four_minutes() -> None:
    assert "Paris" in _play(_FIRST_SECONDS)
    begin = time.monotonic()
    assert "Paris" in _play(_AGAIN_SECONDS)
    assert time.monotonic() - begin < _AGAIN_SECONDS
