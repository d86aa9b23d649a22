"""From nothing to Ready: resolve, fetch, load, warm."""

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

from arriero_api.contract import ContractError, Phase
from arriero_runtime import registrations
from arriero_runtime.cli import ServeOptions
from arriero_runtime.engine.protocol import Engine, EngineLoader
from arriero_runtime.failing import start_error
from arriero_runtime.lifecycle import LifeCycle
from arriero_runtime.server.dispatch import Dispatcher
from arriero_runtime.server.names import Names
from arriero_runtime.server.warming import warm
from arriero_runtime.sources import obtain

log = logging.getLogger(__name__)


@dataclass
class BringUp:
    """One start. `engine` is there as soon as it is loaded, before it is warm."""

    options: ServeOptions
    loader: EngineLoader
    life: LifeCycle
    dispatcher: Dispatcher
    names: Names
    engine: Engine | None = None

    async def run(self) -> Engine:
        """A warm engine behind the dispatcher. Raises StartError."""
        self.life.enter(Phase.RESOLVING)
        applied = self._registrations()
        wanted = obtain.Wanted(
            self.options.model, self.options.revision, applied.registrations.commit, self.options.cache_dir
        )
        # Whichever finds a fault first ends the start.
        resolved, _ = await asyncio.gather(obtain.resolve(wanted), self.loader.check_arguments())
        self.life.commit(resolved.commit)
        folder = await self._fetch(resolved)
        self.life.enter(Phase.LOADING, "starting the engine")
        engine = await self.loader.load(folder, self.names.current)
        self.engine = engine
        self.life.effective(engine.effective)
        self.names.attach(engine)
        self.dispatcher.app = engine.app
        self.life.enter(Phase.WARMING, "asking for a first answer")
        await warm(engine)
        self.life.enter(Phase.READY)
        return engine

    def _registrations(self) -> registrations.Applied:
        try:
            applied = registrations.read(self.options.registrations)
        except ContractError as error:
            raise start_error("RegistrationsInvalid", str(error), Phase.RESOLVING) from error
        self.names.apply(applied)
        return applied

    async def _fetch(self, resolved: obtain.Resolved) -> Path:
        if not resolved.fetched:
            self.life.enter(Phase.DOWNLOADING)
        loop = asyncio.get_running_loop()

        def report(percent: int, words: str) -> None:
            loop.call_soon_threadsafe(self._progress, words, percent)

        return await resolved.fetch(report)

    def _progress(self, words: str, percent: int) -> None:
        if self.life.phase is Phase.DOWNLOADING:
            self.life.progress(words, percent)
