"""The models that clients register and unregister, where nobody else says what is served: one at a time.

Calls are joined: whoever wants what is under way already waits for it with those who began it. Who stops waiting ends
nothing.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from arriero_api.contract import Failure, NameKind, Phase, Registration, Registrations
from arriero_runtime.engine.protocol import AsgiApp, Engine
from arriero_runtime.failing import StartError, failure
from arriero_runtime.messages import Drained
from arriero_runtime.model import Model
from arriero_runtime.registrations import Applied
from arriero_runtime.server import refusals
from arriero_runtime.server.answers import engine_gone
from arriero_runtime.server.bringup import BringUp, Withdrawn
from arriero_runtime.server.pulse import death
from arriero_runtime.server.refusals import RegistrationRefused
from arriero_runtime.server.tasks import Tasks
from arriero_runtime.server.wish import Wish

_LAST_WORDS_SECONDS: Final = 2.0
_REMEMBERED: Final = 1000
"""Names that were unregistered: to do so again is no error."""
_NAMES: Final = 256
"""Of one model at a time: each is kept with what its registration said, and told in every list."""
_VAGUE: Final = ("EngineDied", "EngineFailed")
"""What the engine's processes tell in the log alone."""
_LOG_KNOWS: Final = (
    "The server's log says why. Register the model again; where it ends so again, mend what the log tells."
)
DIMENSION: Final = "embedding_dimension"
Drain = Callable[[Engine], Awaitable[Drained]]
log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Resident:
    """The model that is loaded, or on its way. `load` has what refused it, or None."""

    model: Model
    wishes: dict[str, Wish]
    load: "asyncio.Task[RegistrationRefused | None]"
    watch: "asyncio.Task[None] | None" = None

    def is_of(self, model: Model) -> bool:
        return (self.model.uri, self.model.revision) == (model.uri, model.revision)


class Registry:
    """`drain` waits for the requests under way when the last name goes."""

    def __init__(self, start: BringUp, tasks: Tasks, drain: Drain) -> None:
        self._start = start
        self._life = start.life
        self._tasks = tasks
        self._drain = drain
        self._resident: _Resident | None = None
        self._leaving: asyncio.Task[None] | None = None
        self._past: dict[str, None] = {}
        self._closed = False

    @property
    def app(self) -> AsgiApp | None:
        """The engine's application, while it serves."""
        return self._start.dispatcher.app if self._life.phase is Phase.READY else None

    def wish(self, name: str) -> Wish | None:
        """How this name was registered; None where it is not."""
        return self._resident.wishes.get(name) if self._resident else None

    async def register(self, wish: Wish) -> None:
        """Returns when the name is served. Raises RegistrationRefused; then nothing of this call is left."""
        while self._leaving is not None:
            await asyncio.wait({self._leaving})
        if self._closed:
            raise refusals.stopping()
        resident = self._resident or self._move_in(wish.model)
        if not resident.is_of(wish.model):
            raise refusals.occupied(wish.shown, next(iter(resident.wishes.values())).shown, self._life.phase)
        before = resident.wishes.get(wish.name)
        if before is None and len(resident.wishes) >= _NAMES:
            raise refusals.too_many(_NAMES)
        resident.wishes[wish.name] = wish
        self._past.pop(wish.name, None)
        self._tell(resident)
        await asyncio.wait({resident.load})
        if refused := resident.load.result():
            raise refused
        if self._resident is not resident or wish.name not in resident.wishes:
            raise refusals.withdrawn()
        if fault := self._unlike(wish):
            await self._take_back(resident, wish, before)
            raise refusals.unlike(wish.name, fault)

    async def unregister(self, name: str) -> None:
        """Returns when the name is not served any more, and with the last one the memory is free. Raises
        RegistrationRefused for a name that never was."""
        while self._leaving is not None:
            await asyncio.wait({self._leaving})
        resident = self._resident
        if resident is None or name not in resident.wishes:
            if name in self._past:
                return
            raise refusals.unknown(name)
        self._forget(name)
        if len(resident.wishes) > 1:
            del resident.wishes[name]
            self._tell(resident)
            return
        self._leaving = self._tasks.start(self._leave(resident))
        await asyncio.wait({self._leaving})

    async def close(self) -> Engine | None:
        """Nothing is registered any more. Returns the engine that serves and is to be drained, if there is one."""
        self._closed = True
        if self._leaving is not None:
            await asyncio.wait({self._leaving})
        resident = self._resident
        if resident is None or not resident.load.done():
            return None
        if resident.watch is not None:
            resident.watch.cancel()
        return self._start.engine

    def _move_in(self, model: Model) -> _Resident:
        self._life.enter(Phase.RESOLVING, "looking for the model, checking the engine's arguments")
        self._start.dispatcher.facts.of_model(model.uri)
        self._resident = _Resident(model, {}, self._tasks.start(self._load(model)))
        return self._resident

    async def _load(self, model: Model) -> RegistrationRefused | None:
        try:
            engine = await self._start.run(model)
        except Withdrawn:
            await self._clear(None)
            return refusals.withdrawn()
        except StartError as error:
            found = error.failure
            if found.reason in _VAGUE:
                found = replace(found, remedy=_LOG_KNOWS)
        except Exception as error:
            log.exception("the start failed")
            words = f"{type(error).__name__}: {error}"
            found = failure("EngineFailed", words, self._life.phase, remedy=_LOG_KNOWS)
        else:
            assert self._resident is not None
            self._resident.watch = self._tasks.start(self._watch(engine))
            return None
        await self._clear(found)
        return refusals.failed(found)

    async def _watch(self, engine: Engine) -> None:
        """A dead engine is cleared away, and the next registration starts another."""
        await death(engine)
        self._leaving = asyncio.current_task()
        try:
            dispatcher = self._start.dispatcher
            dispatcher.refusing = True
            dispatcher.cut_all(engine_gone())
            await dispatcher.idle(_LAST_WORDS_SECONDS)
            words = "The engine's process has ended."
            await self._clear(failure("EngineDied", words, self._life.phase, remedy=_LOG_KNOWS))
        finally:
            self._leaving = None

    async def _leave(self, resident: _Resident) -> None:
        try:
            if not resident.load.done():
                self._start.withdraw()
                await asyncio.wait({resident.load})
            if self._resident is resident:
                if resident.watch is not None:
                    resident.watch.cancel()
                assert self._start.engine is not None
                await self._drain(self._start.engine)
                await self._clear(None)
        finally:
            self._leaving = None

    async def _clear(self, found: Failure | None) -> None:
        """Back to Empty: no engine, no names; of a failure only its words are left."""
        await self._start.free()
        for name in self._resident.wishes if self._resident else ():
            self._forget(name)
        self._resident = None
        self._start.names.clear()
        dispatcher = self._start.dispatcher
        dispatcher.facts.of_model("")
        dispatcher.refusing = False
        if found is not None:
            log.error("%s: %s", found.reason, found.message)
            self._life.fail(found)
        elif self._life.phase is not Phase.DRAINING:
            self._life.enter(Phase.DRAINING)
        self._life.enter(Phase.EMPTY)

    def _unlike(self, wish: Wish) -> str:
        """What the registration says of the model that is not so, in words."""
        facts = self._start.dispatcher.facts
        kind = "embedding" if facts.embeds else "llm"
        if wish.kind and wish.kind != kind:
            return f"model_type is {wish.kind!r}, and the model is of the kind {kind!r}"
        dimension = wish.metadata.get(DIMENSION)
        if dimension is not None and facts.embeds and dimension != facts.dimension:
            return f"metadata.{DIMENSION} is {dimension}, and the model's vectors have {facts.dimension} numbers"
        return ""

    async def _take_back(self, resident: _Resident, wish: Wish, before: Wish | None) -> None:
        if before is not None:
            resident.wishes[wish.name] = before
        elif self._resident is resident and resident.wishes.get(wish.name) is wish:
            await self.unregister(wish.name)

    def _tell(self, resident: _Resident) -> None:
        """The engine answers for these names from now on, the oldest as the model's own."""
        names = list(resident.wishes)
        entries = [Registration(names[0], NameKind.MODEL), *(Registration(name, NameKind.ALIAS) for name in names[1:])]
        registrations = Registrations(tuple(entries))
        self._start.names.apply(Applied(registrations, registrations.hash))

    def _forget(self, name: str) -> None:
        self._past[name] = None
        if len(self._past) > _REMEMBERED:
            del self._past[next(iter(self._past))]
