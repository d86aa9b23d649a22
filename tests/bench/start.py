"""How long the runtime takes from its start to Ready, against the bare engine's own server with the same flags.

`python -m tests.bench.start`: interleaved pairs with a tiny model. The runtime's answer to its own first question is
taken out and told apart. CPU seconds are those of all processes; on a machine that is busy with other things they say
more than the time.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arriero_api.contract import Phase
from arriero_runtime.supervisor.tree import descendants
from tests.bench.bare import Bare
from tests.bench.ratios import spread
from tests.models import tiny
from tests.support.real_runtime import START_SECONDS, RealRuntime
from tests.support.runtime_process import until

GOAL_SECONDS: Final = 2.0
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds until ready and CPU seconds until then; `warming` is the part of the first answer."""

    seconds: float
    cpu: float
    warming: float = 0.0


def cpu_seconds(root: int) -> float:
    """Of a process, all below it, and those of them that have ended."""
    total = 0
    for pid in (root, *descendants(root)):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(int(value) for value in fields[11:15])
    return total / _TICKS


def bare() -> Start:
    """The engine's own server, until /health."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        server = Bare(Path(folder), tiny(), engine=("--max-model-len=1024",), cache=_cache())
        try:
            server.until_ready()
            return Start(time.monotonic() - begun, cpu_seconds(server.process.pid))
        finally:
            server.clean()


def _cache() -> Path:
    """Both find what the engine keeps of a model's architecture."""
    folder = Path(tempfile.gettempdir(), "arriero-bench-start")
    folder.mkdir(exist_ok=True)
    return folder


def ours() -> Start:
    """The runtime, until /readyz."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "vllm").symlink_to(_cache())
        runtime = RealRuntime(folder, tiny())
        warming = [0.0, 0.0]

        def ready() -> bool:
            status = runtime.status()
            if status and status.phase is Phase.WARMING and not warming[0]:
                warming[:] = runtime.age(), cpu_seconds(runtime.process.pid)
            return bool(status and status.phase is Phase.READY)

        try:
            until(ready, "the runtime", START_SECONDS)
            found = Start(
                runtime.age(), cpu_seconds(runtime.process.pid), runtime.age() - (warming[0] or runtime.age())
            )
            runtime.stop()
            runtime.ended(60)
            return found
        finally:
            runtime.clean()


def main() -> None:
    """Print each pair and the differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=8)
    pairs = parser.parse_args().pairs
    bare(), ours()  # what is read once is in the page cache and in the engine's own
    print(f"{'':8} {'bare s':>8} {'ours s':>8} {'warming':>8} {'bare CPU':>9} {'ours CPU':>9}")
    over, over_cpu = [], []
    for number in range(pairs):
        first, second = (bare(), ours()) if number % 2 else (None, ours())
        theirs = first or bare()
        over.append(second.seconds - second.warming - theirs.seconds)
        over_cpu.append(second.cpu - theirs.cpu)
        values = (
            f"{theirs.seconds:8.1f} {second.seconds:8.1f} {second.warming:8.1f} {theirs.cpu:9.1f} {second.cpu:9.1f}"
        )
        print(f"pair {number:3} {values}", flush=True)
    print(f"over the bare engine, the first answer apart: {_words(over)} s; all: {[round(one, 1) for one in over]}")
    print(f"CPU seconds over the bare engine, the first answer included: {_words(over_cpu)}")
    found = spread(over)
    verdict = "met" if found.high <= GOAL_SECONDS else "missed" if found.low > GOAL_SECONDS else "not shown"
    print(f"goal: at most {GOAL_SECONDS:+g} s: {verdict}")


def _words(values: Sequence[float]) -> str:
    found = spread(values)
    return f"{found.centre:+.1f} ({found.low:+.1f} to {found.high:+.1f})"


if __name__ == "__main__":
    main()
