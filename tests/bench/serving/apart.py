"""The engines on processors of their own.

Where engine and front end share them, the kernel moves their threads about, and an engine of two processes that wait
for each other's turn has two speeds, each for seconds, which differ by more than what is measured.
"""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.bench.parts import ENGINE
from tests.bench.serving.rounds import Server

_CLIENT: Final = "client"


def put(servers: Iterable[Server], client: int) -> None:
    """The engines' threads on the first half of the processors, those of all else on the second. Servers without an
    engine leave the first half to the client. Raises RuntimeError where there is one processor only."""
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        raise RuntimeError("the engines need a processor of their own, and there is one in all: --processors shared")
    half = len(processors) // 2
    parts = {pid: part for server in servers for pid, part in server.parts.pids.items()} | {client: _CLIENT}
    apart = ENGINE if ENGINE in parts.values() else _CLIENT
    for pid, part in parts.items():
        _put(pid, processors[:half] if part == apart else processors[half:])


def _put(pid: int, processors: Iterable[int]) -> None:
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.sched_setaffinity(int(task.name), processors)
