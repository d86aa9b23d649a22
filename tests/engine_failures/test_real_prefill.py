"""A real engine that dies or hangs in the middle of long prompts, while it also gives streams: no client is left
waiting, and none of its streams breaks off without a word."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
import pytest

from arriero_api.contract import Phase
from arriero_runtime.supervisor import exitcodes
from tests.engine_failures.rig import ENDLESS, Start, explained
from tests.models import smollm2
from tests.support.real_runtime import RealRuntime
from tests.support.runtime_process import until
from tests.support.streams import Streams

pytestmark = pytest.mark.full

LONG = {**ENDLESS, "prompt": [7] * 8000, "max_tokens": 4}
"""About as much as the model's context holds: several of them keep the engine at work for tens of seconds."""


@dataclass(frozen=True, slots=True)
class Busy:
    """A runtime whose engine gives `streams` and reads the prompts of `prompts`, none of which has an answer yet."""

    runtime: RealRuntime
    streams: Streams
    prompts: Streams

    def assert_all_were_told(self) -> None:
        """Streams end with an error event and in order; what had no answer yet gets one that says 503."""
        for held in (self.streams, self.prompts):
            held.read(5)
            assert held.open == 0
        for received in self.streams.received:
            events = [piece for piece in received.split(b"\r\n") if piece.startswith(b"data:")]
            *_, error, done = b"".join(events).split(b"\n\n")[:-1]
            assert b'"code":503' in error.replace(b" ", b""), received[-500:]
            assert done == b"data: [DONE]"
            assert received.endswith(b"0\r\n\r\n")
        for received in self.prompts.received:
            assert received.startswith(b"HTTP/1.1 503 "), received[:500]
            assert b'"type": "server_error"' in received


@contextmanager
def busy(start: Start) -> Iterator[Busy]:
    """Its engine is known to be in the middle of the prompts."""
    runtime = start(smollm2(), "--max-model-len=8192")
    port, path = runtime.serve_port, "/v1/completions"
    with Streams(port, path, ENDLESS, 2) as streams:
        streams.until_all_began(60)
        with Streams(port, path, LONG, 6) as prompts:
            until(lambda: running(runtime) > 2, "prompts in work", 60)
            yield Busy(runtime, streams, prompts)


def running(runtime: RealRuntime) -> float:
    """How many requests the engine works on."""
    lines = httpx.get(f"{runtime.url}/metrics", timeout=30).text.splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("vllm:num_requests_running{"))


def told(runtime: RealRuntime) -> tuple[Phase, str] | None:
    """What /status says, where it tells of a failure: the phase, and the reason."""
    status = runtime.status()
    return (status.phase, status.failure.reason) if status and status.failure else None


@pytest.mark.parametrize("victim", ["VLLM::EngineCore", "VLLM::Worker"])
def test_an_engine_that_is_killed_in_a_long_prompt_is_told_to_every_client(start: Start, victim: str) -> None:
    with busy(start) as found:
        runtime, below = found.runtime, found.runtime.below()
        os.kill(runtime.titled(victim), signal.SIGKILL)
        killed = time.monotonic()
        assert found.prompts.began == 0
        until(lambda: runtime.get("/readyz")[0] == 503, "out of readiness", 5)
        until(lambda: told(runtime) == (Phase.FAILED, "EngineDied"), "told by /status", 5)
        assert runtime.get("/livez")[0] == 200
        failure = explained(runtime, below, exitcodes.DIED)
        assert time.monotonic() - killed < 15
        found.assert_all_were_told()
    assert failure.reason == "EngineDied"


def test_an_engine_that_hangs_in_a_long_prompt_is_told_to_every_client(start: Start) -> None:
    with busy(start) as found:
        runtime, below = found.runtime, found.runtime.below()
        os.kill(runtime.titled("VLLM::EngineCore"), signal.SIGSTOP)
        stopped = time.monotonic()
        assert found.prompts.began == 0
        until(lambda: "no step" in runtime.get("/readyz")[1], "not ready", 45)
        assert time.monotonic() - stopped > 28
        assert found.prompts.open + found.streams.open == 8
        until(lambda: told(runtime) == (Phase.FAILED, "EngineHung"), "told by /status", 110)
        assert 115 < time.monotonic() - stopped < 140
        assert runtime.get("/livez")[0] == 200
        failure = explained(runtime, below, exitcodes.HUNG)
        assert time.monotonic() - stopped < 150
        found.assert_all_were_told()
    assert failure.reason == "EngineHung"
    assert "no step" in failure.message
