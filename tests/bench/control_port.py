"""How quickly the control port answers while the engine loads and while it serves many streams.

`python -m tests.bench.control_port`: one start of the real engine with a tiny model. The baseline is the same code in a
process that does nothing else, asked at the same moments: what both take is the machine's doing, not the runtime's.
"""

import argparse
import contextlib
import functools
import http.client
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.cluster.images import environment
from tests.models import tiny
from tests.support.real_runtime import NAME, START_SECONDS, RealRuntime, clean_environment
from tests.support.runtime_process import free_port, until
from tests.support.streams import Streams

PATHS: Final = ("/livez", "/readyz", "/status", "/metrics")
PAUSE_SECONDS: Final = 0.02
GOAL_MS: Final = 50.0
_IDLE: Final = """
import signal, sys
from arriero_runtime.supervisor.control import Control
from arriero_runtime.supervisor.log import Copy
from arriero_runtime.supervisor.metrics import Sources, render
from arriero_runtime.supervisor.state import State
state, silent = State(10, 30), Copy("silent", 1, lambda chunk: None)
Control("127.0.0.1", int(sys.argv[1]), state, lambda: render(Sources(state, silent, silent)))
signal.pause()
"""


class Probe:
    """Asks every path in turn from a thread of its own, for as long as it is open; `took` is in milliseconds."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._over = threading.Event()
        self.took: dict[str, list[float]] = {path: [] for path in PATHS}
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._over.is_set():
            for path in PATHS:
                begun = time.perf_counter()
                connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
                try:
                    connection.request("GET", path)
                    connection.getresponse().read()
                except ConnectionRefusedError:
                    continue
                finally:
                    connection.close()
                self.took[path].append((time.perf_counter() - begun) * 1000)
            self._over.wait(PAUSE_SECONDS)

    def all(self) -> list[float]:
        """Of all paths."""
        return [one for took in self.took.values() for one in took]

    def __enter__(self) -> "Probe":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def row(what: str, took: Sequence[float]) -> str:
    """One line of the table: how many answers, and their times."""
    found = sorted(took)
    marks = [found[min(len(found) - 1, int(len(found) * share))] for share in (0.5, 0.95, 0.99)]
    return f"{what:34} {len(found):6} " + " ".join(f"{mark:8.1f}" for mark in (*marks, found[-1]))


def measured(what: str, port: int, baseline: int, work: Callable[[], object]) -> tuple[float, float]:
    """Print what the port did during `work`; the 99th percentile over all paths, and the baseline's."""
    with Probe(port) as probe, Probe(baseline) as other:
        work()
    for path, took in probe.took.items():
        print(row(f"{what} {path}", took))
    print(row(f"{what}, all", probe.all()))
    print(row(f"{what}, baseline", other.all()))
    return _p99(probe.all()), _p99(other.all())


def _p99(took: Sequence[float]) -> float:
    return statistics.quantiles(took, n=100)[98]


@contextlib.contextmanager
def idle_port() -> Iterator[int]:
    """The control port of a process that has no server."""
    port = free_port()
    process = subprocess.Popen([environment.PYTHON, "-c", _IDLE, str(port)], env=clean_environment())
    try:
        yield port
    finally:
        process.kill()
        process.wait()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=20.0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, idle_port() as baseline:
        runtime = RealRuntime(Path(folder), tiny(), engine=(f"--max-num-seqs={asked.streams + 20}",))
        try:
            _measure(runtime, baseline, asked.streams, asked.seconds)
        finally:
            runtime.clean()


def _measure(runtime: RealRuntime, baseline: int, count: int, seconds: float) -> None:
    runtime.until_hears()
    until(lambda: runtime.get("/livez")[0] == 200, "livez")
    print(f"first answer of /livez {runtime.age():.2f} s after the start")
    print(f"{'milliseconds':34} {'asked':>6} {'p50':>8} {'p95':>8} {'p99':>8} {'max':>8}")
    ask = functools.partial(measured, port=runtime.port, baseline=baseline)
    found = {"loading": ask("loading", work=lambda: runtime.until_ready(START_SECONDS))}
    found["idle"] = ask("idle", work=lambda: time.sleep(seconds))
    body = {"model": NAME, "prompt": "Once", "max_tokens": 1000, "ignore_eos": True, "stream": True}
    with Streams(runtime.serve_port, "/v1/completions", body, count) as streams:
        streams.until_all_began(120)
        found["streams"] = ask("streams", work=lambda: streams.read(seconds))
        print(f"streams open at the end: {streams.open} of {count}")
    memory = Path(f"/proc/{runtime.process.pid}/status").read_text().split("VmHWM:")[1].split()[0]
    print(f"supervisor's resident memory at most: {int(memory) / 1024:.1f} MB")
    for what, (p99, base) in found.items():
        verdict = "met" if p99 <= GOAL_MS else "not met"
        print(f"{what}: p99 {p99:.1f} ms, of which the machine's {base:.1f} ms; goal {GOAL_MS:g} ms: {verdict}")


if __name__ == "__main__":
    main()
