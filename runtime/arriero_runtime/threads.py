"""Threads for what must not wait."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


async def apart(work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """As asyncio.to_thread, in a thread of its own: others may hold all that are shared, for as long as they like."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="apart")
    try:
        return await asyncio.wrap_future(thread.submit(work, *args, **kwargs))
    finally:
        thread.shutdown(wait=False)
