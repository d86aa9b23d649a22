"""The adapters that the file of registrations asks for: fetched, checked, loaded, replaced, taken away, each by itself.

An adapter that fails harms nothing else. While a changed one is on its way, the earlier weights go on under its name.
"""

import asyncio
import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from arriero_api import reasons
from arriero_api.contract import AdapterState, Failure, Registration
from arriero_runtime.adapters.base import BaseModules
from arriero_runtime.adapters.fit import check, refused
from arriero_runtime.engine.protocol import AdapterRefused, EngineGone, EngineSilent
from arriero_runtime.failing import StartError
from arriero_runtime.lifecycle import LifeCycle
from arriero_runtime.server.entry import Entry
from arriero_runtime.server.fetches import AT_ONCE, Fetches
from arriero_runtime.server.leftovers import Leftovers
from arriero_runtime.server.place import Place
from arriero_runtime.sources import adapters as source

_PAUSES: Final = (5.0, 15.0, 30.0, 60.0, 300.0)
"""Seconds before a failure that may pass is tried again; the last one for good."""
_MENDED_ELSEWHERE: Final = ("AdapterNotFound", "AdapterUnauthorized")
"""Someone may upload the adapter or grant access without touching the resource: looked at again, rarely."""
log = logging.getLogger(__name__)


class Adapters:
    """Holds the entries before there is an engine; every change of a state is told to the life cycle."""

    def __init__(self, life: LifeCycle) -> None:
        self._life = life
        self._entries: dict[str, Entry] = {}
        self._place: Place | None = None
        self._base: BaseModules | None = None
        self._leftovers: Leftovers | None = None
        self._changed = asyncio.Event()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._fetches = Fetches(self._leave)
        self.unanswered = ""
        """What a living engine left without an answer, in words; empty where it has answered all."""

    def apply(self, wanted: Sequence[Registration]) -> None:
        """Serve these adapters from now on; what is there already is not touched."""
        asked = {one.name: one for one in wanted}
        for name in [name for name in self._entries if name not in asked]:
            self._remove(self._entries.pop(name))
        before, self._entries = self._entries, {}
        for name, one in asked.items():
            known = before.get(name)
            if known is not None and known.is_of(one) and not known.had_no_room:
                known.wanted = one
                self._entries[name] = known
            else:
                self._entries[name] = self._begin(one, known)
        self._publish()

    async def attach(self, place: Place) -> None:
        """The engine is there: begin with what has been asked for so far."""
        self._base = await asyncio.to_thread(BaseModules.of_folder, place.model)
        self._place = place
        self._leftovers = Leftovers(place, self._folders)
        for entry in self._entries.values():
            self._start(entry)

    async def settled(self) -> None:
        """Wait until every adapter is registered or has failed once."""
        while any(entry.state is AdapterState.REGISTERING for entry in self._entries.values()):
            self._changed.clear()
            await self._changed.wait()

    async def detach(self) -> None:
        """The engine is about to end: nothing of it is kept."""
        await self.close()
        self._place = self._base = self._leftovers = None
        self.unanswered = ""

    async def close(self) -> None:
        """End what is under way."""
        tasks = [entry.task for entry in self._entries.values() if entry.task is not None]
        for entry in self._entries.values():
            entry.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._leftovers is not None:
            await self._leftovers.close()

    def _begin(self, wanted: Registration, known: Entry | None) -> Entry:
        entry = Entry(wanted)
        if known is not None:
            entry.serving = known.serving
            known.cancel()
            self._leave(known.coming)
        self._start(entry)
        return entry

    def _start(self, entry: Entry) -> None:
        if self._place is not None:
            entry.dropped = threading.Event()
            entry.task = asyncio.get_running_loop().create_task(self._bring(entry, self._place))

    def _remove(self, entry: Entry) -> None:
        entry.cancel()
        if entry.serving is not None and self._place is not None:
            self._drop(self._place.engine.unload_adapter(entry.wanted.name))
            log.info("adapter %s is taken away", entry.wanted.name)
        for folder in entry.folders:
            self._leave(folder)

    def _folders(self) -> set[Path]:
        return {folder for entry in self._entries.values() for folder in entry.folders}

    def _leave(self, folder: Path | None) -> None:
        if folder is not None and self._leftovers is not None:
            self._leftovers.leave(folder)

    def _drop(self, weights: int | None) -> None:
        if weights is not None and self._leftovers is not None:
            self._leftovers.drop(weights)

    async def _bring(self, entry: Entry, place: Place) -> None:
        """Until it is registered, or has failed in a way that only another entry can mend."""
        tries = 0
        while True:
            try:
                async with self._slots:
                    await self._load(entry, place)
            except StartError as error:
                self._failed(entry, error.failure)
            except EngineGone as error:
                log.warning("adapter %s: %s", entry.wanted.name, error)
                return  # not this adapter's fault: whoever watches the engine tells it
            except Exception as error:
                log.exception("adapter %s", entry.wanted.name)
                self._failed(entry, refused("AdapterFetchFailed", f"{type(error).__name__}: {error}").failure)
            else:
                entry.state, entry.failure = AdapterState.REGISTERED, None
                log.info("adapter %s is served", entry.wanted.name)
                self._publish()
                return
            if entry.failure is not None and reasons.reason(entry.failure.reason).permanent:
                if entry.failure.reason not in _MENDED_ELSEWHERE:
                    return
                tries = len(_PAUSES)
            await asyncio.sleep(_PAUSES[min(tries, len(_PAUSES) - 1)])
            tries += 1

    async def _load(self, entry: Entry, place: Place) -> None:
        wanted = entry.wanted
        capacity = place.engine.lora
        if capacity is None:
            raise refused("AdapterNoCapacity", "the pod was made without spec.lora")
        if list(self._entries).index(wanted.name) >= capacity.max_loaded:
            raise refused("AdapterNoCapacity", f"the pod was made for {capacity.max_loaded} adapters")
        found = await self._obtained(entry, place)
        await asyncio.to_thread(check, found.folder, self._base, capacity.max_rank)
        try:
            earlier = await place.engine.load_adapter(wanted.name, found.folder)
        except AdapterRefused as error:
            raise refused(error.reason, f"the engine refuses it: {error}") from error
        except EngineSilent as error:
            self.unanswered = f"adapter {wanted.name}: {error}"
            raise refused("AdapterFetchFailed", str(error)) from error
        self._drop(earlier)
        entry.commit = found.commit
        before, entry.serving, entry.coming = entry.serving, found.folder, None
        if before != found.folder:
            self._leave(before)

    async def _obtained(self, entry: Entry, place: Place) -> source.Obtained:
        while True:
            found = await self._fetches.obtain(entry.wanted, place, entry.dropped)
            before, entry.coming = entry.coming, found.folder
            if before != found.folder:
                self._leave(before)
            if found.folder.is_dir():
                return found
            # It was removed as a leftover before this entry named it: once more.

    def _failed(self, entry: Entry, found: Failure) -> None:
        words = entry.fail(found)
        log.warning("%s: %s", found.reason, words)
        self._publish()

    def _publish(self) -> None:
        self._life.adapters(tuple(entry.status for entry in self._entries.values()))
        self._changed.set()
