"""Starts both servers, keeps them running side by side, and prints the tables."""

import argparse
import contextlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.bench.bare import Bare
from tests.bench.parts import of_tree
from tests.bench.serving import apart, free, report
from tests.bench.serving.rounds import Client, Round, Server, client, interleaved, one
from tests.bench.serving.sides import BARE, CHAT, COMPLETION, NATIVE, OPENAI, SIDES, Work, real_works, tiny_works
from tests.models import smollm2, tiny
from tests.support.real_runtime import START_SECONDS, RealRuntime, clean_environment

_ENGINE: Final = ("--max-model-len=1024", "--max-num-seqs=256", "--no-enable-prefix-caching")
_IDLE_SECONDS: Final = 5.0
_ASLEEP: Final = Path(__file__).parent / "asleep"


@contextlib.contextmanager
def servers(model: Path, *, asleep: bool) -> Iterator[Mapping[str, Server]]:
    """Side → its server; the runtime's two routes have one. `asleep`: how both engines' processes wait."""
    env = _with_sleep() if asleep else {}
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folders = [Path(name, part) for part in ("bare", "ours")]
        for folder in folders:
            folder.mkdir()
        bare = Bare(folders[0], model, engine=_ENGINE, env=env)
        stack.callback(bare.clean)
        bare.until_ready()
        ours = RealRuntime(folders[1], model, engine=_ENGINE, env=env)
        stack.callback(ours.clean)
        ours.until_ready(START_SECONDS)
        runtime = Server(ours.serve_port, of_tree(ours.process.pid))
        yield {BARE: Server(bare.port, of_tree(bare.process.pid)), OPENAI: runtime, NATIVE: runtime}
        ours.stop()
        ours.ended(60)


def _with_sleep() -> Mapping[str, str]:
    return {"PYTHONPATH": os.pathsep.join((str(_ASLEEP), clean_environment()["PYTHONPATH"]))}


@contextlib.contextmanager
def free_servers(model: Path) -> Iterator[Mapping[str, Server]]:
    """The same with an engine that costs nothing."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        found = []
        for part, start in (("bare", free.bare), ("ours", free.ours)):
            folder = Path(name, part)
            folder.mkdir()
            process = start(folder, model, _ENGINE)
            stack.callback(process.clean)
            process.until_ready()
            found.append(Server(process.port, of_tree(process.process.pid)))
        yield {BARE: found[0], OPENAI: found[1], NATIVE: found[1]}


def measure(asked: argparse.Namespace, client: Client, found: Mapping[str, Server]) -> None:
    """Print a table for each kind of work; all rounds go to a file, if there is to be one."""
    works = (real_works if asked.model == "smollm2" else tiny_works)(asked.route, asked.streams)
    everything: list[Any] = []
    for work in works:
        if asked.kind not in ("both", "streams" if work.streamed else "answers"):
            continue
        rounds = interleaved(asked.sides, partial(_turn, client, found, work), asked.pairs)
        print(report.table(work, rounds), flush=True)
        taken = {side: [asdict(each) for each in of_side] for side, of_side in rounds.items()}
        everything.append({"work": asdict(work), "rounds": taken})
        if asked.json:
            asked.json.write_text(json.dumps(everything))


def _turn(client: Client, found: Mapping[str, Server], work: Work, side: str) -> Round:
    return one(client, found[side], SIDES[side], work)


def rest(found: Mapping[str, Server]) -> str:
    """What the servers use while nobody asks them anything: it would go into the other's rounds."""
    before = {name: found[name].parts.cpu() for name in (BARE, OPENAI)}
    time.sleep(_IDLE_SECONDS)
    words = []
    for name, cpu in before.items():
        now = found[name].parts.cpu()
        words += [f"{name}: {part} {(now[part] - cpu[part]) / _IDLE_SECONDS:.2%}" for part in sorted(cpu)]
    return f"CPU at rest: {'; '.join(words)}\n"


def memory(found: Mapping[str, Server]) -> str:
    """A table of what the processes hold, once for each server."""
    lines = ["| MB resident (shared pages in proportion) | part | resident | in proportion |", "|---|---|---|---|"]
    for name in (BARE, OPENAI):
        server = found[name]
        resident, proportional = server.parts.resident(), server.parts.memory()
        lines += [f"| {name} | {part} | {resident[part]:.0f} | {proportional[part]:.0f} |" for part in sorted(resident)]
    return "\n".join([*lines, ""])


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _sides(text: str) -> Sequence[str]:
    return [name for name in SIDES if any(name.startswith(part) for part in text.split(","))]


def main() -> None:
    """As its arguments say."""
    parser = argparse.ArgumentParser(prog="tests.bench.serving", description=__doc__)
    parser.add_argument(
        "--model", choices=("tiny", "smollm2", "free"), default="tiny", help="free: an engine that costs nothing"
    )
    parser.add_argument("--pairs", type=int, default=24)
    parser.add_argument("--route", choices=(CHAT, COMPLETION), default=CHAT)
    parser.add_argument("--streams", type=_numbers, default=[1, 32, 256], help="at once, with commas between them")
    parser.add_argument("--sides", type=_sides, default=list(SIDES), help="beginnings of: " + ", ".join(SIDES))
    parser.add_argument("--kind", choices=("streams", "answers", "both"), default="both")
    parser.add_argument("--json", type=Path, help="a file for all rounds")
    parser.add_argument(
        "--processors",
        choices=("apart", "shared"),
        default="apart",
        help="apart: the engines on one half, the front ends and the client on the other",
    )
    parser.add_argument(
        "--engine-waits",
        choices=("asleep", "turning"),
        default="asleep",
        help="how an engine's processes wait for each other; turning, as vLLM's do, needs a processor for each",
    )
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the servers are ended
    start = free_servers if asked.model == "free" else partial(servers, asleep=asked.engine_waits == "asleep")
    with start(smollm2() if asked.model == "smollm2" else tiny()) as found, client() as load:
        if asked.processors == "apart":
            apart.put(found.values(), load.pid)
        print(f"model: {asked.model}; processors: {asked.processors}; engines wait {asked.engine_waits}", flush=True)
        print("ratios: more than 1 is better than the other side\n", flush=True)
        print(rest(found), flush=True)
        measure(asked, load, found)
        print(memory(found))


if __name__ == "__main__":
    main()
