"""Ends of a real engine that serves: death and hang are told apart, told from work, explained, and leave nothing."""

import os
import signal
import time

import pytest

from arriero_runtime.supervisor import exitcodes
from tests.engine_failures.rig import ENDLESS, Start, explained, killed
from tests.models import smollm2, tiny
from tests.support.runtime_process import until
from tests.support.streams import Streams

pytestmark = pytest.mark.full


@pytest.mark.parametrize("streams", [0, 8])
@pytest.mark.parametrize("victim", ["engine core", "worker", "server"])
def test_a_process_that_is_killed_is_a_death(start: Start, victim: str, streams: int) -> None:
    runtime = start(tiny())
    titles = {"engine core": "VLLM::EngineCore", "worker": "VLLM::Worker"}
    pid = runtime.titled(titles[victim]) if victim in titles else runtime.server()
    assert ("SIGKILL" in killed(runtime, pid, streams).message) == (victim == "server")


def test_a_stopped_engine_is_hung_and_one_that_goes_on_is_not(start: Start) -> None:
    runtime = start(tiny())
    below, core = runtime.below(), runtime.titled("VLLM::EngineCore")
    with Streams(runtime.serve_port, "/v1/completions", ENDLESS, 3) as held:
        held.until_all_began(60)
        os.kill(core, signal.SIGSTOP)
        stopped = time.monotonic()
        until(lambda: "no step" in runtime.get("/readyz")[1], "not ready", 60)
        assert time.monotonic() - stopped > 28
        os.kill(core, signal.SIGCONT)
        until(lambda: runtime.get("/readyz")[0] == 200, "ready again", 20)
    with Streams(runtime.serve_port, "/v1/completions", ENDLESS, 3) as held:
        held.until_all_began(60)
        os.kill(core, signal.SIGSTOP)
        stopped = time.monotonic()
        until(lambda: runtime.process.poll() is not None, "ended", 180)
        assert 115 < time.monotonic() - stopped < 160
        held.read(5)
        assert held.open == 0
    failure = explained(runtime, below, exitcodes.HUNG)
    assert failure.reason == "EngineHung"
    assert "no step" in failure.message


def test_a_busy_engine_is_neither_hung_nor_out_of_readiness(start: Start) -> None:
    runtime = start(smollm2(), "--max-model-len=4096")
    prompt = {**ENDLESS, "prompt": [7] * 3900, "max_tokens": 4}
    longest = 0.0
    with Streams(runtime.serve_port, "/v1/completions", prompt, 8) as held:
        deadline = time.monotonic() + 240
        while held.open and time.monotonic() < deadline:
            held.read(0.5)
            assert runtime.get("/readyz")[0] == 200
            metrics = runtime.get("/metrics")[1]
            longest = max(longest, float(metrics.split("\narriero_runtime_stuck_seconds ")[1].split()[0]))
        assert (held.open, held.done) == (0, 8)
    print(f"longest time without a step: {longest:.1f} s")
