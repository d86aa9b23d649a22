"""Waiting for something to become true, with a deadline.

TEST_PATIENCE in the environment multiplies all deadlines: for a machine that has much else to do.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

_PAUSE = 0.05
PATIENCE = float(os.environ.get("TEST_PATIENCE", "1"))


def eventually(probe: Callable[[], T], timeout: float = 10.0, pause: float = _PAUSE) -> T:
    """The first truthy answer of `probe`, asked each `pause` seconds; an AssertionError of it counts as not yet. Fails
    after `timeout` seconds."""
    deadline = time.monotonic() + timeout * PATIENCE
    while True:
        last: object
        try:
            answer = probe()
            if answer:
                return answer
            last = answer
        except AssertionError as error:
            last = error
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {timeout * PATIENCE:g} s; last: {last}")
        time.sleep(pause)


async def eventually_async(probe: Callable[[], T | Awaitable[T]], timeout: float = 10.0) -> T:
    """The same without blocking the event loop; `probe` may be a coroutine function."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout * PATIENCE
    while True:
        last: object
        try:
            answer = probe()
            found = await answer if isinstance(answer, Awaitable) else answer
            if found:
                return found
            last = found
        except AssertionError as error:
            last = error
        if loop.time() >= deadline:
            raise AssertionError(f"not within {timeout * PATIENCE:g} s; last: {last}")
        await asyncio.sleep(_PAUSE)
