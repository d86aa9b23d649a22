"""An engine of several workers: it serves, ends with all of them, and the death of one is the death of all."""

from pathlib import Path

import httpx
import pytest

from arriero_api import pod
from arriero_api.contract import Shutdown
from arriero_runtime.supervisor import exitcodes
from tests.engine_failures.rig import Start, killed
from tests.models import tiny
from tests.support.real_runtime import NAME, RealRuntime

pytestmark = pytest.mark.full

WORKERS = ("VLLM::Worker_TP0", "VLLM::Worker_TP1")


@pytest.fixture
def runtime(start: Start) -> RealRuntime:
    """Two workers on one node of memory, whose threads are not bound to processors of their own."""
    return start(tiny(), "--tensor-parallel-size=2", env={"VLLM_CPU_OMP_THREADS_BIND": "nobind"})


def test_two_workers_answer_and_end_with_the_runtime(runtime: RealRuntime) -> None:
    body = {"model": NAME, "prompt": "Once", "max_tokens": 5}
    answer = httpx.post(f"{runtime.url}/v1/completions", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    assert answer.json()["usage"]["completion_tokens"] > 0
    below = runtime.below()
    assert {runtime.titled(title) for title in WORKERS} < set(below)
    runtime.stop()
    assert runtime.ended(1 + pod.ENGINE_STOP_SECONDS + pod.GRACE_MARGIN_SECONDS) == exitcodes.STOPPED
    assert Shutdown.from_json(runtime.message()) == Shutdown(0, 0)
    assert not [pid for pid in below if Path(f"/proc/{pid}").exists()]


def test_one_worker_that_is_killed_is_told_and_takes_the_others_with_it(runtime: RealRuntime) -> None:
    killed(runtime, runtime.titled(WORKERS[1]), streams=4)
