"""Tasks beside the main one: none ends in silence, and all are ended together."""

import asyncio
import logging
from collections.abc import Coroutine
from functools import partial
from typing import Any, TypeVar

from arriero_runtime.failing import StartError

_T = TypeVar("_T")
log = logging.getLogger(__name__)


class Tasks:
    """Starts tasks and holds them until they end: an ended one would keep what it had in hand, such as an engine.
    `broken` gets, in words, which essential task ended first, and why."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self.broken: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def start(self, work: Coroutine[Any, Any, _T]) -> "asyncio.Task[_T]":
        """Runs beside the caller until `cancel`; an error that nobody expects is logged."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(_note_fault)
        return task

    def essential(self, what: str, work: Coroutine[Any, Any, _T]) -> "asyncio.Task[_T]":
        """As `start`, for work without which the server is of no use."""
        task = self.start(work)
        task.add_done_callback(partial(self._note_end, what))
        return task

    def _note_end(self, what: str, task: "asyncio.Task[Any]") -> None:
        if task.cancelled() or self.broken.done():
            return
        error = task.exception()
        why = f"{type(error).__name__}: {error}" if error else "it ended"
        self.broken.set_result(f"{what}: {why}")

    async def cancel(self) -> None:
        """End all that still run."""
        running = list(self._tasks)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _note_fault(task: "asyncio.Task[Any]") -> None:
    if not task.cancelled() and isinstance(error := task.exception(), Exception) and not isinstance(error, StartError):
        log.error("a task of the server failed", exc_info=error)
