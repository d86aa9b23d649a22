"""From nothing to Ready: resolve, fetch, load, warm."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from arriero_api.contract import Phase
from arriero_runtime.cli import ServeOptions
from arriero_runtime.engine.protocol import Engine, EngineLoader
from arriero_runtime.failing import start_error
from arriero_runtime.lifecycle import LifeCycle
from arriero_runtime.server.adapters import Place
from arriero_runtime.server.dispatch import Dispatcher
from arriero_runtime.server.names import Names
from arriero_runtime.server.routes import ANSWERS
from arriero_runtime.server.warming import warm
from arriero_runtime.sources import obtain


@dataclass
class BringUp:
    """One start. `engine` is there as soon as it is loaded, before it is warm."""

    options: ServeOptions
    loader: EngineLoader
    life: LifeCycle
    dispatcher: Dispatcher
    names: Names
    engine: Engine | None = None

    async def run(self, pin: str) -> Engine:
        """A warm engine behind the dispatcher; `pin` is the commit to serve, if one is recorded. Raises StartError.

        Expects the phase Resolving.
        """
        wanted = obtain.Wanted(self.options.model, self.options.revision, pin, self.options.cache_dir)
        # Whichever finds a fault first ends the start.
        resolved, _ = await asyncio.gather(obtain.resolve(wanted), self.loader.check_arguments())
        self.life.commit(resolved.commit)
        folder = await self._fetch(resolved)
        self.life.enter(Phase.LOADING, "starting the engine")
        engine = await self.loader.load(folder, self.names.current)
        self.engine = engine
        _refuse_useless(engine)
        self.life.effective(engine.effective)
        self.names.attach(engine)
        self.dispatcher.attach(engine)
        self.life.enter(Phase.WARMING, "asking for a first answer")
        await warm(engine)
        await self._adapters(Place(engine, self.options.model, folder, self.options.cache_dir))
        self.life.enter(Phase.READY)
        return engine

    async def _adapters(self, place: Place) -> None:
        """Every adapter that is asked for now is loaded or has failed; later ones no more touch readiness."""
        adapters = self.names.adapters
        if self.names.applied is not None and self.names.applied.registrations.adapters:
            self.life.progress("loading adapters")
        await adapters.attach(place)
        await adapters.settled()

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


def _refuse_useless(engine: Engine) -> None:
    """Such as a model that only classifies or scores: it would be ready and answer nothing."""
    if not engine.paths.intersection(ANSWERS):
        tasks = engine.effective.get("tasks") or "none"
        words = f"The model can answer none of {', '.join(ANSWERS)}; what it can do: {tasks}."
        raise start_error("ModelUnsupported", words, Phase.LOADING)
