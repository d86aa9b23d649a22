"""Tasks beside the main one: none ends in silence, and all are ended together."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from arriero_runtime.failing import StartError

_T = TypeVar("_T")
log = logging.getLogger(__name__)


class Tasks:
    """Starts tasks and holds them."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, _T]) -> "asyncio.Task[_T]":
        """Runs beside the caller until `cancel`; an error that nobody expects is logged."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(_note_fault)
        return task

    async def cancel(self) -> None:
        """End all that still run."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _note_fault(task: "asyncio.Task[Any]") -> None:
    if not task.cancelled() and isinstance(error := task.exception(), Exception) and not isinstance(error, StartError):
        log.error("a task of the server failed", exc_info=error)
