"""What adapters leave behind that nothing names any more: weights in the engine, which take the room of others, and
folders in the cache.

A request under way goes on with the weights that it began with. The engine may read their folder again for as long, and
dies where it is gone.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from arriero_runtime.server.place import Place
from arriero_runtime.sources import adapters as source

_ENGINE_SECONDS: Final = 10.0
"""For the engine to let go of a request whose client has gone."""
log = logging.getLogger(__name__)


class Leftovers:
    """`in_use` gives the folders that are named or served from. Folders that were not put into the cache for adapters
    are left alone, and all of a cache that is shared."""

    def __init__(self, place: Place, in_use: Callable[[], Collection[Path]]) -> None:
        self._place = place
        self._in_use = in_use
        self._going: dict[Path | int, asyncio.Task[None]] = {}

    def leave(self, folder: Path) -> None:
        """It is not in use any more, as far as the caller knows: when requests have ended, it goes, unless it is in use
        again by then."""
        if self._place.shared or not source.is_fetched(folder, self._place.cache_dir):
            return
        if (earlier := self._going.pop(folder, None)) is not None:
            earlier.cancel()  # requests may have begun with it since
        self._going[folder] = asyncio.get_running_loop().create_task(self._go(folder))

    def drop(self, weights: int) -> None:
        """No name has these weights of the engine any more: when requests have ended, they go."""
        self._going[weights] = asyncio.get_running_loop().create_task(self._drop(weights))

    async def close(self) -> None:
        """What has not gone yet stays."""
        going, self._going = list(self._going.values()), {}
        for task in going:
            task.cancel()
        await asyncio.gather(*going, return_exceptions=True)

    async def _idle(self) -> None:
        await self._place.past()
        await asyncio.sleep(_ENGINE_SECONDS)

    async def _drop(self, weights: int) -> None:
        await self._idle()
        try:
            await self._place.engine.drop_adapter(weights)
        except Exception as error:
            log.warning("the engine does not let go of an adapter's earlier weights: %r", error)
        del self._going[weights]

    async def _go(self, folder: Path) -> None:
        await self._idle()
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
