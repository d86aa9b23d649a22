"""How quickly the control port answers while the engine loads and while it serves many streams.

`python -m tests.bench.control_port`: one start of the real engine with a tiny model. The baseline is the same port of
the same process while the server is idle: what is above it is the load's doing, the rest the machine's.
"""

import argparse
import http.client
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tests.models import tiny
from tests.support.real_runtime import NAME, START_SECONDS, RealRuntime
from tests.support.streams import Streams

PATHS: Final = ("/livez", "/readyz", "/status", "/metrics")
PAUSE_SECONDS: Final = 0.02
GOAL_MS: Final = 50.0


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


def measured(what: str, port: int, work: Callable[[], object]) -> float:
    """Print what the port did during `work`; the 99th percentile over all paths."""
    with Probe(port) as probe:
        work()
    for path, took in probe.took.items():
        print(row(f"{what} {path}", took))
    every = sorted(one for took in probe.took.values() for one in took)
    print(row(f"{what}, all", every))
    return statistics.quantiles(every, n=100)[98]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=20.0)
    asked = parser.parse_args()
    body = {"model": NAME, "prompt": "Once", "max_tokens": 1000, "ignore_eos": True, "stream": True}
    with tempfile.TemporaryDirectory() as folder:
        runtime = RealRuntime(Path(folder), tiny(), engine=(f"--max-num-seqs={asked.streams + 20}",))
        try:
            print(f"{'milliseconds':34} {'asked':>6} {'p50':>8} {'p95':>8} {'p99':>8} {'max':>8}")
            runtime.until_hears()
            found = {"loading": measured("loading", runtime.port, lambda: runtime.until_ready(START_SECONDS))}
            found["idle"] = measured("idle", runtime.port, lambda: time.sleep(asked.seconds))
            with Streams(runtime.serve_port, "/v1/completions", body, asked.streams) as streams:
                streams.until_all_began(120)
                found["streams"] = measured("streams", runtime.port, lambda: streams.read(asked.seconds))
                print(f"streams open at the end: {streams.open} of {asked.streams}")
            memory = Path(f"/proc/{runtime.process.pid}/status").read_text().split("VmHWM:")[1].split()[0]
            print(f"supervisor's resident memory at most: {int(memory) / 1024:.1f} MB")
            for what, p99 in found.items():
                print(f"{what}: p99 {p99:.1f} ms, goal {GOAL_MS:g} ms: {'met' if p99 <= GOAL_MS else 'not met'}")
        finally:
            runtime.clean()


if __name__ == "__main__":
    main()
