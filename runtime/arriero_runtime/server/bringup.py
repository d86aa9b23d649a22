"""From nothing to Ready: resolve, fetch, load, warm. And back: everything of the model is given away."""

import asyncio
import contextlib
import ctypes
import gc
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from arriero_api.contract import Phase
from arriero_runtime.checkpoint import whole
from arriero_runtime.cli import ServeOptions
from arriero_runtime.engine.protocol import Engine, EngineLoader
from arriero_runtime.failing import start_error
from arriero_runtime.lifecycle import LifeCycle
from arriero_runtime.model import Model
from arriero_runtime.native.fitting import chat_of
from arriero_runtime.server.compiled import Compiled, shelf
from arriero_runtime.server.dispatch import Dispatcher
from arriero_runtime.server.foretaste import Foretaste
from arriero_runtime.server.names import Names
from arriero_runtime.server.place import Place
from arriero_runtime.server.routes import ANSWERS
from arriero_runtime.server.warming import warm, while_alive
from arriero_runtime.server.withdrawal import Withdrawal, Withdrawn, together
from arriero_runtime.sources import obtain
from arriero_runtime.threads import apart

_AGAIN_SECONDS: Final = 0.2
_ENGINE_SECONDS: Final = 7.0
"""For an engine that is not wanted to end by itself."""


@dataclass
class BringUp:
    """One start at a time. `engine` is there as soon as it is loaded, before it is warm."""

    options: ServeOptions
    loader: EngineLoader
    life: LifeCycle
    dispatcher: Dispatcher
    names: Names
    engine: Engine | None = None
    _withdrawal: Withdrawal = field(default_factory=Withdrawal)
    _keeping: "asyncio.Future[None] | None" = None

    async def run(self, model: Model) -> Engine:
        """A warm engine behind the dispatcher. Raises StartError, and Withdrawn; `free` then takes away what is left.

        Expects the phase Resolving.
        """
        compiled = await self._claimed(model)
        foretaste = Foretaste(self.loader.flags)
        try:
            folder = await self._withdrawal.result(self._prepare(model, foretaste))
        finally:
            foretaste.close()
        self.life.progress("starting the engine")
        if compiled is not None:
            await self._withdrawal.result(asyncio.to_thread(compiled.fill))
        engine = self.engine = await self._load(folder, model)
        await self._withdrawal.result(while_alive(engine, self._warmed(engine, model, folder), self.life))
        self.life.enter(Phase.READY)
        if compiled is not None:
            self._keeping = asyncio.ensure_future(asyncio.to_thread(compiled.keep))
        return engine

    async def _warmed(self, engine: Engine, model: Model, folder: Path) -> None:
        """Whatever is asked of the engine before it serves."""
        _refuse_useless(engine)
        facts = self.dispatcher.facts
        facts.llama = await chat_of(engine, self.options.chat_format, facts.repository)
        self.life.effective(engine.effective)
        self.names.attach(engine)
        self.dispatcher.attach(engine)
        self.life.enter(Phase.WARMING, "asking for a first answer")
        answer = await warm(engine)
        facts.dimension = 0 if answer.blind is not None else len(answer.values)
        await self._adapters(self._place(engine, model, folder))

    async def _claimed(self, model: Model) -> Compiled | None:
        """The caches of what this model compiles, where they are kept for other pods; those of the model before are
        packed first."""
        if self._keeping is not None:
            await self._keeping
        compiled = shelf(self.options, model.uri, self.loader.flags)
        if compiled is not None:
            try:
                await asyncio.to_thread(compiled.claim)
            except OSError as error:
                words = f"{compiled.work} cannot be written: {error.strerror}."
                raise start_error("CacheUnusable", words, Phase.RESOLVING) from error
        return compiled

    def _place(self, engine: Engine, model: Model, folder: Path) -> Place:
        own, past = self.options, self.dispatcher.past
        return Place(engine, model.uri, folder, own.cache_dir, past, own.credentials_dir, own.shared_cache)

    def withdraw(self) -> None:
        """The start that is under way ends soon, with Withdrawn."""
        self._withdrawal.withdraw()

    async def free(self) -> None:
        """End the engine, where there is one, and forget it, and that it was withdrawn. Harmless when repeated."""
        self._withdrawal.renew()
        engine, self.engine = self.engine, None
        self.dispatcher.detach()
        await self.names.detach()
        if engine is not None:
            await engine.stop(_ENGINE_SECONDS)
            del engine
            await apart(_collect)

    async def _prepare(self, model: Model, foretaste: Foretaste) -> Path:
        """The model's folder, in the phase Loading. The engine's arguments are checked meanwhile, as that takes long,
        and then the model's configuration, as far as it is there before the weights. Whichever finds a fault first ends
        the start."""
        folder, _ = await together(self._folder(model, foretaste), self._check(model, foretaste))
        return folder

    async def _folder(self, model: Model, foretaste: Foretaste) -> Path:
        resolved = await obtain.resolve(
            obtain.Wanted(
                model.uri,
                model.revision,
                model.pin,
                self.options.cache_dir,
                self.options.credentials,
                self.options.credentials_dir,
                displaces=self.options.allow_registration and not self.options.shared_cache,
                code=self.options.trust_remote_code,
            ),
        )
        self.life.commit(resolved.commit)
        if not resolved.fetched:
            self.life.enter(Phase.DOWNLOADING)
        loop = asyncio.get_running_loop()

        def report(percent: int, words: str) -> None:
            if foretaste.closed:
                raise Withdrawn  # nobody waits for it any more: the transfer ends
            loop.call_soon_threadsafe(self._progress, words, percent)

        folder = await resolved.fetch(report, foretaste.look)
        foretaste.nothing_more()
        await asyncio.to_thread(whole.check, folder, self.loader.flags, pooling=model.pooling)
        # Nothing is looked up or fetched any more: the phase says so, however long the engine takes for that.
        if self.life.phase in (Phase.RESOLVING, Phase.DOWNLOADING):  # not where it has been stopped meanwhile
            self.life.enter(Phase.LOADING, "all files are there; the engine checks its arguments")
        return folder

    async def _check(self, model: Model, foretaste: Foretaste) -> None:
        await self.loader.check_arguments()
        if configuration := await foretaste.folder():
            await self.loader.check_model(configuration, model)

    async def _load(self, folder: Path, model: Model) -> Engine:
        """Never left alone: an engine that comes up after all is given away by `free`."""
        self.dispatcher.counts.engine_begins()
        loading = asyncio.ensure_future(self.loader.load(folder, self.names.current, model))
        withdrawn = asyncio.ensure_future(self._withdrawal.withdrawn())
        try:
            await asyncio.wait({loading, withdrawn}, return_when=asyncio.FIRST_COMPLETED)
            while self._withdrawal.is_withdrawn and not loading.done():
                self.loader.give_up()
                await asyncio.wait({loading}, timeout=_AGAIN_SECONDS)
        finally:
            withdrawn.cancel()
        if self._withdrawal.is_withdrawn:
            with contextlib.suppress(Exception):
                self.engine = loading.result()
            raise Withdrawn
        return loading.result()

    async def _adapters(self, place: Place) -> None:
        """Every adapter that is asked for now is loaded or has failed; later ones no more touch readiness."""
        adapters = self.names.adapters
        if self.names.applied is not None and self.names.applied.registrations.adapters:
            self.life.progress("loading adapters")
        await adapters.attach(place)
        await adapters.settled()
        if adapters.unanswered:
            words = f"The engine answered a first question, but no more: {adapters.unanswered}."
            raise start_error("EngineHung", words, Phase.WARMING)

    def _progress(self, words: str, percent: int) -> None:
        if self.life.phase is Phase.DOWNLOADING:
            self.life.progress(words, percent)


def _collect() -> None:
    """What holds the engine's buffers has cycles: the memory is to come back now, not at some time. vLLM has excepted
    from that all that was there when it began to serve."""
    gc.unfreeze()
    gc.collect()
    # What is free in glibc's heaps lies between what is not, and would stay there.
    with contextlib.suppress(AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def _refuse_useless(engine: Engine) -> None:
    """Such as a model that only classifies or scores: it would be ready and answer nothing."""
    if not engine.paths.intersection(ANSWERS):
        tasks = engine.effective.get("tasks") or "none"
        words = f"The model can answer none of {', '.join(ANSWERS)}; what it can do: {tasks}."
        raise start_error("ModelUnsupported", words, Phase.LOADING)
