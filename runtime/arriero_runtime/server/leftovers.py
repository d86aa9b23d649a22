"""Folders of adapters that nothing names any more, in a cache that no other pod uses: taken away to make room.

The engine may read a folder again for as long as a request is under way that began with it, and dies where it is gone.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Final

from arriero_runtime.sources import adapters as source

_ENGINE_SECONDS: Final = 10.0
"""For the engine to let go of a request whose client has gone."""
log = logging.getLogger(__name__)


class Leftovers:
    """`in_use` gives the folders that are named or served from; `past` waits for the end of all requests that are under
    way. Folders that were not fetched into `cache_dir` are left alone."""

    def __init__(
        self, cache_dir: Path, in_use: Callable[[], Collection[Path]], past: Callable[[], Awaitable[None]]
    ) -> None:
        self._cache_dir = cache_dir
        self._in_use = in_use
        self._past = past
        self._going: dict[Path, asyncio.Task[None]] = {}

    def leave(self, folder: Path) -> None:
        """It is not in use any more, as far as the caller knows: when requests have ended, it goes, unless it is in use
        again by then."""
        if not source.is_fetched(folder, self._cache_dir):
            return
        if (earlier := self._going.pop(folder, None)) is not None:
            earlier.cancel()  # requests may have begun with it since
        self._going[folder] = asyncio.get_running_loop().create_task(self._go(folder))

    async def close(self) -> None:
        """What has not gone yet stays."""
        going, self._going = list(self._going.values()), {}
        for task in going:
            task.cancel()
        await asyncio.gather(*going, return_exceptions=True)

    async def _go(self, folder: Path) -> None:
        await self._past()
        await asyncio.sleep(_ENGINE_SECONDS)
        if folder not in self._in_use():
            await self._remove(folder)
        del self._going[folder]

    async def _remove(self, folder: Path) -> None:
        try:
            # Before anything else can happen here: whoever comes to use the folder finds it whole, or not at all.
            gone = source.put_aside(folder)
            await asyncio.to_thread(source.remove, gone)
        except OSError as error:
            log.warning("the folder of an adapter cannot be removed: %s", error)
        else:
            log.info("%s is removed: no adapter is served from it", folder)
