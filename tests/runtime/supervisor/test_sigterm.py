"""SIGTERM is obeyed within its bound at every moment of the start and with any number of streams open.

The moments are drawn with a seed: SIGTERM_SEED in the environment gives other ones.
"""

import os
import random
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from arriero_api import pod
from arriero_api.contract import Shutdown
from arriero_runtime.supervisor import exitcodes
from tests.runtime.supervisor.harness import Supervised, free_port, until
from tests.support.real_runtime import NAME, START_SECONDS, RealRuntime
from tests.support.runtime_process import RuntimeProcess
from tests.support.streams import Streams

pytestmark = pytest.mark.full

SEED = int(os.environ.get("SIGTERM_SEED", "20261130"))
LOAD_SECONDS = 1.0
DRAIN_SECONDS = 1


@dataclass(frozen=True, slots=True)
class Moment:
    """`seconds` after the start; with `streams` open when Ready comes first. The real engine: after Ready if None."""

    seconds: float | None
    streams: int

    def __str__(self) -> str:
        when = "ready" if self.seconds is None else f"{self.seconds:.2f}s"
        return f"{when}-{self.streams}-streams"


def moments(count: int, longest: float) -> list[Moment]:
    """Some while it starts, some while it serves nobody, few or many."""
    draw = random.Random(SEED)
    return [Moment(draw.uniform(0, longest), draw.choice((0, 1, 7, 50))) for _ in range(count)]


SCRIPTED = moments(80, 3 * LOAD_SECONDS)
REAL = [Moment(moment.seconds, 0) for moment in moments(13, 30.0)] + [
    Moment(None, streams) for streams in (0, 1, 1, 8, 64, 300, 300)
]


def stop(runtime: RuntimeProcess, bound: float) -> float:
    """SIGTERM; how long the end took. Everything has ended with it, and in an orderly way."""
    runtime.until_hears()
    below = runtime.below()
    stopped = time.monotonic()
    runtime.stop()
    assert runtime.ended(bound) == exitcodes.STOPPED, runtime.text()[-2000:]
    took = time.monotonic() - stopped
    assert not [pid for pid in below if Path(f"/proc/{pid}").exists()]
    assert Shutdown.from_json(runtime.message())
    return took


def record(kind: str, moment: Moment, took: float) -> None:
    """For the documentation, where a file is named."""
    if target := os.environ.get("SIGTERM_RECORD"):
        with Path(target).open("a") as file:
            file.write(f"{kind} {moment} {took:.2f}\n")


@pytest.mark.parametrize("moment", SCRIPTED, ids=str)
def test_at_any_moment_with_the_scripted_engine(moment: Moment, tmp_path: Path) -> None:
    assert moment.seconds is not None
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    (tmp_path / "model" / "model.safetensors").write_bytes(b"")
    port = free_port()
    names = tmp_path / "names.json"
    names.write_text('{"schemaVersion": 1, "names": [{"name": "one", "kind": "Model"}]}')
    os.environ["SCRIPTED_LOAD_SECONDS"] = str(LOAD_SECONDS)
    args = f"--model=file://{tmp_path}/model --registrations={names} --cache-dir={tmp_path} --port={port}"
    supervised = Supervised(tmp_path, "none", args=args, server="scripted_server")
    try:
        due = supervised.started + moment.seconds
        while time.monotonic() < due and supervised.get("/readyz")[0] != 200:
            time.sleep(0.01)
        streams = moment.streams if supervised.get("/readyz")[0] == 200 else 0
        with Streams(port, "/v1/chat/completions", {"model": "one", "user": "stream"}, streams) as held:
            held.until_all_began(20)
            took = stop(supervised, DRAIN_SECONDS + pod.ENGINE_STOP_SECONDS + pod.GRACE_MARGIN_SECONDS)
            held.read(5)
            assert (held.open, held.done) == (0, streams)
        record("scripted", moment, took)
    finally:
        supervised.clean()


@pytest.mark.parametrize("number", range(len(REAL)), ids=lambda number: f"{number}-{REAL[number]}")
def test_at_any_moment_with_the_real_engine(number: int, tmp_path: Path) -> None:
    from tests.models import tiny

    moment = REAL[number]
    runtime = RealRuntime(tmp_path, tiny(), own=(f"--drain-seconds={DRAIN_SECONDS}",), engine=("--max-num-seqs=320",))
    body = {"model": NAME, "prompt": "Once", "max_tokens": 1000, "ignore_eos": True, "stream": True}
    try:
        if moment.seconds is None:
            runtime.until_ready(START_SECONDS)
        else:
            due = runtime.started + moment.seconds
            until(lambda: time.monotonic() >= due, "the moment", 60)
        with Streams(runtime.serve_port, "/v1/completions", body, moment.streams) as held:
            held.until_all_began(120)
            grace = 1 + DRAIN_SECONDS + pod.ENGINE_STOP_SECONDS + pod.GRACE_MARGIN_SECONDS
            took = stop(runtime, grace)
            held.read(5)
            assert (held.open, held.done) == (0, moment.streams)
        record("real", moment, took)
    finally:
        runtime.clean()
