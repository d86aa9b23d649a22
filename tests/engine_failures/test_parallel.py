"""An engine of several processes at work: it serves, ends with all of them, and the death of one is that of all."""

from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from arriero_api import pod
from arriero_api.contract import Shutdown
from arriero_runtime.supervisor import exitcodes
from tests.engine_failures.rig import ENDLESS, Start, killed
from tests.models import tiny
from tests.support.real_runtime import NAME, RealRuntime
from tests.support.runtime_process import until
from tests.support.streams import Streams

pytestmark = pytest.mark.full


@dataclass(frozen=True, slots=True)
class Parts:
    """`flag` makes several of one; `titles` are those of their processes."""

    flag: str
    titles: tuple[str, str]


WORKERS = Parts("--tensor-parallel-size=2", ("VLLM::Worker_TP0", "VLLM::Worker_TP1"))
RANKS = Parts("--data-parallel-size=2", ("VLLM::EngineCore_DP0", "VLLM::EngineCore_DP1"))


def begun(start: Start, parts: Parts) -> RealRuntime:
    """On one node of memory, with threads that are not bound to processors of their own."""
    return start(tiny(), parts.flag, env={"VLLM_CPU_OMP_THREADS_BIND": "nobind"})


@pytest.mark.parametrize("parts", [WORKERS, RANKS], ids=lambda parts: parts.flag)
def test_both_answer_and_end_with_the_runtime(start: Start, parts: Parts) -> None:
    runtime = begun(start, parts)
    body = {"model": NAME, "prompt": "Once", "max_tokens": 5}
    for _ in parts.titles:  # ranks take turns
        answer = httpx.post(f"{runtime.url}/v1/completions", json=body, timeout=60)
        assert answer.status_code == 200, answer.text
        assert answer.json()["usage"]["completion_tokens"] > 0
    below = runtime.below()
    assert {runtime.titled(title) for title in parts.titles} < set(below)
    runtime.stop()
    assert runtime.ended(1 + pod.ENGINE_STOP_SECONDS + pod.GRACE_MARGIN_SECONDS) == exitcodes.STOPPED
    assert Shutdown.from_json(runtime.message()) == Shutdown(0, 0)
    assert not [pid for pid in below if Path(f"/proc/{pid}").exists()]


@pytest.mark.parametrize("parts", [WORKERS, RANKS], ids=lambda parts: parts.flag)
def test_one_that_is_killed_is_told_and_takes_the_other_with_it(start: Start, parts: Parts) -> None:
    runtime = begun(start, parts)
    killed(runtime, runtime.titled(parts.titles[1]), streams=4)


def test_every_rank_has_requests_of_its_own_and_all_are_counted(start: Start) -> None:
    runtime = begun(start, RANKS)
    with Streams(runtime.serve_port, "/v1/completions", ENDLESS, 4) as held:
        held.until_all_began(60)
        until(lambda: _running(runtime) == {"0": 2, "1": 2}, "two requests on each rank")
        status = runtime.status()
        assert status is not None
        assert status.requests_in_flight == 4


def _running(runtime: RealRuntime) -> dict[str, int]:
    """Rank → requests that it works on, by the engine's own series."""
    lines = runtime.get("/metrics")[1].splitlines()
    found = [line for line in lines if line.startswith("vllm:num_requests_running{")]
    return {line.partition('engine="')[2].partition('"')[0]: int(float(line.rpartition(" ")[2])) for line in found}
