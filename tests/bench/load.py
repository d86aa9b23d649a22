"""Load on one server of this machine: streams over bare sockets, so that the client costs as little as it can."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Round:
    """One round of load: seconds of the clock, CPU-seconds of the server's process, events that came back."""

    seconds: float
    cpu: float
    events: int


async def load(port: int, path: str, body: Mapping[str, Any], *, requests: int, streams: int, pid: int) -> Round:
    """So many requests, so many at once. Raises RuntimeError for an answer that is no stream."""
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n"
    request = f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data
    left = iter(range(requests))
    events = 0

    async def client() -> None:
        nonlocal events
        for _ in left:
            events += await _ask(port, request)

    cpu, begun = cpu_seconds(pid), time.monotonic()
    await asyncio.gather(*(client() for _ in range(streams)))
    return Round(time.monotonic() - begun, cpu_seconds(pid) - cpu, events)


async def _ask(port: int, request: bytes) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        answer = await reader.read(-1)
    finally:
        writer.close()
    if not answer.startswith(b"HTTP/1.1 200") or b"text/event-stream" not in answer[:1000]:
        raise RuntimeError(f"no stream: {answer[:500]!r}")
    return answer.count(b"data: ")


def cpu_seconds(pid: int) -> float:
    """What the threads of a process have used until now; those that have ended do not count."""
    found = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found += int((task / "schedstat").read_text().split()[0])
        except OSError:
            continue  # it has just ended
    return found / 1e9


def child(pid: int) -> int:
    """The first child of a process: the server of a supervisor."""
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
