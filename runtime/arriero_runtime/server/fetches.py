"""Adapters on their way into the cache: a few at once, and none for longer than it is wanted.

They have threads of their own: a source that does not answer holds up other adapters, and nothing else.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from arriero_api.contract import Registration
from arriero_runtime.server.place import Place
from arriero_runtime.server.withdrawal import Withdrawn
from arriero_runtime.sources import adapters as source

AT_ONCE: Final = 4


class Fetches:
    """`leave` gets the folder that came although nobody waited for it any more."""

    def __init__(self, leave: Callable[[Path], None]) -> None:
        self._leave = leave
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="adapter")

    async def obtain(self, wanted: Registration, place: Place, dropped: threading.Event) -> source.Obtained:
        """See `sources.adapters.obtain`. Who stops waiting sets `dropped`: then the thread ends soon."""

        def report(percent: int, words: str) -> None:
            if dropped.is_set():
                raise Withdrawn

        def work() -> source.Obtained:
            report(0, "")
            return source.obtain(
                wanted, place.model_uri, place.cache_dir, credentials_dir=place.credentials_dir, report=report
            )

        future = asyncio.get_running_loop().run_in_executor(self._threads, work)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            future.add_done_callback(self._unwanted)
            raise

    def _unwanted(self, future: "asyncio.Future[source.Obtained]") -> None:
        if not future.cancelled() and future.exception() is None:
            self._leave(future.result().folder)
