"""Rounds of load on running servers, interleaved."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from tests.bench.parts import Parts
from tests.bench.serving.client import Answer, Order
from tests.bench.serving.sides import CHAT, Side, Work

_REST_SECONDS: Final = 1.3
"""After a round: the engine's processes turn for about a second after work, at the cost of the other side."""

_WARMING: Final = 64
"""Requests before each round, which do not count, or as many as there are streams: a server that has just rested while
another worked is up to a tenth slower at first, and some sides are never the first after another's server. Streams that
are few need fewer for as many seconds: 16 for each."""


@dataclass(frozen=True, slots=True)
class Round:
    """What the client found, and the CPU-seconds of the server by part."""

    answer: Answer
    cpu: Mapping[str, float]

    @property
    def all_cpu(self) -> float:
        return sum(self.cpu.values())


class Client:
    """The load generator's process; also a context that ends it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.serving.client"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def run(self, order: Order) -> Answer:
        """One round. Raises RuntimeError when the client ends, having said why on its standard error."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(asdict(order)), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the load generator has ended")
        return Answer(**json.loads(line))


@contextlib.contextmanager
def client() -> Iterator[Client]:
    """A load generator, ended at the end."""
    found = Client()
    try:
        yield found
    finally:
        found._process.kill()
        found._process.wait()


@dataclass(frozen=True, slots=True)
class Server:
    """A server that is ready."""

    port: int
    parts: Parts


def one(client: Client, server: Server, side: Side, work: Work) -> Round:
    """One round on one side."""
    bodies = [json.dumps(side.body(work.route, tokens, work.streamed)) for tokens in work.lengths()]
    before_text = 1 if work.streamed and work.route == CHAT else 0
    order = Order(server.port, side.path(work.route), bodies, work.streams, work.streamed, before=before_text)
    warming = max(work.streams, min(_WARMING, 16 * work.streams))
    client.run(replace(order, bodies=bodies[:warming]))
    before = server.parts.cpu()
    answer = client.run(order)
    after = server.parts.cpu()
    time.sleep(_REST_SECONDS)
    return Round(answer, {part: after[part] - before[part] for part in after})


def interleaved(sides: Sequence[str], turn: Callable[[str], Round], pairs: int) -> dict[str, list[Round]]:
    """One round of every side for each pair, forwards and backwards by turns, so that sides that stand next to each
    other are measured next to each other, each of them first as often as second, and what drifts touches both alike.
    One more before them does not count."""
    found: dict[str, list[Round]] = {side: [] for side in sides}
    for number in range(-1, pairs):
        for side in sides if number % 2 else reversed(sides):
            taken = turn(side)
            if number >= 0:
                found[side].append(taken)
    return found
