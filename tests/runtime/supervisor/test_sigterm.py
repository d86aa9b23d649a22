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
from arriero_api.contract import NameKind, Phase, Registration, Registrations, Shutdown
from arriero_runtime.supervisor import exitcodes
from tests.hub import Fault, Hub
from tests.models.lora import adapter
from tests.runtime.server.harness import layered_model
from tests.runtime.supervisor.harness import Supervised, free_port, until
from tests.support.real_runtime import NAME, START_SECONDS, RealRuntime
from tests.support.runtime_process import RuntimeProcess
from tests.support.streams import Streams

pytestmark = pytest.mark.full

SEED = int(os.environ.get("SIGTERM_SEED", "20261130"))
SLOW_SECONDS = 20.0
"""How long a phase lasts in which SIGTERM is to come: longer than a busy machine needs to see it."""
DRAIN_SECONDS = 1


@dataclass(frozen=True, slots=True)
class Moment:
    """`seconds` after this phase was seen; without a phase, after the start. `streams` are open when it is Ready."""

    phase: Phase | None
    seconds: float
    streams: int = 0

    def __str__(self) -> str:
        return f"{self.phase or 'start'}-{self.seconds:.2f}s-{self.streams}-streams"


def moments() -> list[Moment]:
    """Eighty: of each phase of a start, some before the server's first word, and with none, few or many streams."""
    draw = random.Random(SEED)
    starting = [None, Phase.RESOLVING, Phase.DOWNLOADING, Phase.LOADING, Phase.WARMING]
    found = [Moment(phase, draw.uniform(0, 1)) for phase in starting for _ in range(10)]
    return found + [Moment(Phase.READY, draw.uniform(0, 1), draw.choice((0, 1, 7, 50))) for _ in range(30)]


SCRIPTED = moments()
REAL = [Moment(None, random.Random(SEED + number).uniform(0, 30)) for number in range(13)] + [
    Moment(Phase.READY, 0, streams) for streams in (0, 1, 1, 8, 64, 300, 300)
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


def reach(runtime: RuntimeProcess, moment: Moment) -> None:
    """Wait until the moment has come. Fails where its phase has passed by then."""
    began = runtime.started
    if moment.phase is not None:
        until(lambda: in_phase(runtime, moment.phase), f"{moment.phase}; its log: {runtime.text()[-2000:]}", 60)
        began = time.monotonic()
    until(lambda: time.monotonic() >= began + moment.seconds, "the moment", 60)
    assert moment.phase is None or in_phase(runtime, moment.phase), runtime.text()[-2000:]


def in_phase(runtime: RuntimeProcess, phase: Phase | None) -> bool:
    status = runtime.status()
    return status is not None and status.phase is phase


def slow_server(folder: Path, hub: Hub, port: int) -> Supervised:
    """Of a model that is fetched, with an adapter."""
    model = layered_model(folder)
    hub.add_repo("acme/model", model)
    listed = Registration("support", NameKind.ADAPTER, f"file://{adapter(model, folder / 'support')}")
    names = folder / "names.json"
    names.write_text(Registrations((Registration("one", NameKind.MODEL), listed)).to_json())
    args = f"--model=hf://acme/model --registrations={names} --cache-dir={folder}/cache --port={port}"
    return Supervised(folder, "none", args=args, server="scripted_server")


@pytest.mark.parametrize("moment", SCRIPTED, ids=str)
def test_at_any_moment_with_the_scripted_engine(
    moment: Moment, tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_SLOW", moment.phase or Phase.LOADING)
    monkeypatch.setenv("SCRIPTED_SECONDS", str(SLOW_SECONDS))
    if moment.phase is Phase.RESOLVING:
        hub.fault(Fault(path="api", silent=True))
    if moment.phase is Phase.DOWNLOADING:
        hub.fault(Fault(path="*.safetensors", bytes_per_second=200))
    port = free_port()
    supervised = slow_server(tmp_path, hub, port)
    try:
        reach(supervised, moment)
        with Streams(port, "/v1/chat/completions", {"model": "one", "user": "stream"}, moment.streams) as held:
            held.until_all_began(20)
            assert held.open == moment.streams
            took = stop(supervised, DRAIN_SECONDS + pod.ENGINE_STOP_SECONDS + pod.GRACE_MARGIN_SECONDS)
            held.read(5)
            assert (held.open, held.done) == (0, moment.streams)
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
        if moment.phase is Phase.READY:
            runtime.until_ready(START_SECONDS)
        else:
            reach(runtime, moment)
        with Streams(runtime.serve_port, "/v1/completions", body, moment.streams) as held:
            held.until_all_began(120)
            grace = 1 + DRAIN_SECONDS + pod.ENGINE_STOP_SECONDS + pod.GRACE_MARGIN_SECONDS
            took = stop(runtime, grace)
            held.read(5)
            assert (held.open, held.done) == (0, moment.streams)
        record("real", moment, took)
    finally:
        runtime.clean()
