"""The load, as a process of its own: `python -m tests.bench.serving.client`.

Reads orders from its standard input, one JSON object a line, and answers each with what it measured. One connection
for each stream, kept for the whole round, as the usual clients do. It takes apart as little as it can.
"""

import asyncio
import contextlib
import json
import os
import re
import statistics
import sys
import time
from array import array
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

_TOKENS: Final = re.compile(rb'"(?:completion_tokens|metric": ?"completion_tokens", ?"value)": ?(\d+)')
_LENGTH: Final = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
_KEPT_BYTES: Final = 1000
_END: Final = b"\r\n0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Order:
    """A request for each of `bodies`, so many at once. `before` is how many events come before the first that has text,
    `streamed` whether there are events at all."""

    port: int
    path: str
    bodies: Sequence[str]
    streams: int
    streamed: bool
    before: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Seconds of the clock and CPU-seconds of this process; tokens as the answers count them; then, in milliseconds,
    the median and the 99th percentile: until the first text, between two arrivals, until the end."""

    seconds: float
    cpu: float
    requests: int
    events: int
    tokens: int
    first: tuple[float, float]
    gap: tuple[float, float]
    whole: tuple[float, float]


class Found:
    """What one round has found."""

    def __init__(self) -> None:
        self.first, self.gaps, self.whole = array("d"), array("d"), array("d")
        self.events = self.tokens = 0


class Connection(asyncio.Protocol):
    """One request after another."""

    def __init__(self, order: Order, found: Found) -> None:
        self._order = order
        self._found = found
        self._transport: asyncio.Transport
        self._over: asyncio.Future[None] | None = None  # until it is asked for the first time
        self._head = self._tail = b""
        self._events = self._left = 0
        self._begun = self._last = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    async def ask(self, request: bytes) -> None:
        """One request, with its head. Raises RuntimeError for an answer of another kind than expected."""
        over = self._over = asyncio.get_running_loop().create_future()
        self._head, self._tail, self._events, self._last = b"", b"", 0, 0.0
        self._begun = time.perf_counter()
        self._transport.write(request)
        await over

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        if not self._head:
            self._head = data
            if not data.startswith(b"HTTP/1.1 200"):
                self._fail(data)
                return
            if not self._order.streamed:
                length = _LENGTH.search(data)
                assert length is not None
                self._left = int(length[1]) + data.index(b"\r\n\r\n") + 4
        if self._order.streamed:
            self._event(data, now)
        else:
            self._tail += data
            if len(self._tail) >= self._left:
                self._end(now)

    def _event(self, data: bytes, now: float) -> None:
        count = data.count(b"data: ")
        self._events += count
        if count and self._events > self._order.before:
            if self._last:
                self._found.gaps.append(now - self._last)
            else:
                self._found.first.append(now - self._begun)
            self._last = now
        self._tail = (self._tail + data)[-_KEPT_BYTES:]
        if self._tail.endswith(_END):
            self._end(now)

    def _end(self, now: float) -> None:
        counted = _TOKENS.findall(self._tail)
        if not counted:
            self._fail(self._tail)
            return
        self._found.whole.append(now - self._begun)
        self._found.events += self._events
        self._found.tokens += int(counted[-1])
        assert self._over is not None
        self._over.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(b"the connection was lost")

    def _fail(self, data: bytes) -> None:
        if self._over is not None and not self._over.done():
            self._over.set_exception(RuntimeError(f"{self._order.path}: {data[:1000]!r}"))

    def close(self) -> None:
        """After the last request."""
        self._transport.close()


def _request(path: str, body: str) -> bytes:
    data = body.encode()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data


async def run(order: Order) -> Answer:
    """One round."""
    found, left = Found(), iter([_request(order.path, body) for body in order.bodies])
    loop = asyncio.get_running_loop()
    connections = []
    for _ in range(order.streams):
        _, connection = await loop.create_connection(lambda: Connection(order, found), "127.0.0.1", order.port)
        connections.append(connection)

    async def one(connection: Connection) -> None:
        for request in left:
            await connection.ask(request)

    cpu, begun = time.process_time(), time.perf_counter()
    try:
        await asyncio.gather(*map(one, connections))
        seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    finally:
        for connection in connections:
            connection.close()
    times = [_marks(values) for values in (found.first, found.gaps, found.whole)]
    return Answer(seconds, cpu, len(order.bodies), found.events, found.tokens, *times)


def _marks(values: "array[float]") -> tuple[float, float]:
    if len(values) < 2:
        return (values[0] * 1000, values[0] * 1000) if values else (0.0, 0.0)
    return statistics.median(values) * 1000, statistics.quantiles(values, n=100, method="inclusive")[98] * 1000


def _go_first() -> None:
    """Where that is allowed: a client that waits for a processor would see events late, and several at once."""
    with contextlib.suppress(OSError):
        os.nice(-10)
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text("-10")


def main() -> None:
    """Until the input ends."""
    _go_first()
    for line in sys.stdin:
        answer = asyncio.run(run(Order(**json.loads(line))))
        print(json.dumps(asdict(answer)), flush=True)


if __name__ == "__main__":
    main()
