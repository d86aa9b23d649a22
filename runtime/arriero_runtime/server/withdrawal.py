"""Work for a model that may not be wanted any more before it is done."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


class Withdrawn(Exception):
    """The model is not wanted any more."""


class Withdrawal:
    """Of one model at a time."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    @property
    def is_withdrawn(self) -> bool:
        return self._event.is_set()

    def withdraw(self) -> None:
        """What waits for a result ends, with Withdrawn."""
        self._event.set()

    def renew(self) -> None:
        """The next model is wanted."""
        self._event.clear()

    async def withdrawn(self) -> None:
        """Returns when it is withdrawn."""
        await self._event.wait()

    async def result(self, work: Coroutine[Any, Any, _T]) -> _T:
        """The work's result, unless it is withdrawn first; threads of it then end by themselves."""
        task = asyncio.ensure_future(work)
        withdrawn = asyncio.ensure_future(self.withdrawn())
        try:
            await asyncio.wait({task, withdrawn}, return_when=asyncio.FIRST_COMPLETED)
            if self.is_withdrawn:
                raise Withdrawn
            return task.result()
        finally:
            withdrawn.cancel()
            await end(task)


async def together(first: Coroutine[Any, Any, _T], second: Coroutine[Any, Any, None]) -> tuple[_T, None]:
    """Both results; the first fault ends the other one."""
    one, other = asyncio.ensure_future(first), asyncio.ensure_future(second)
    try:
        return await asyncio.gather(one, other)
    finally:
        await end(one)
        await end(other)


async def end(task: "asyncio.Future[Any]") -> None:
    """Cancel what still runs, and take note of its end."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()
