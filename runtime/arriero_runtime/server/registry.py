"""The models that clients register and unregister, where nobody else says what is served: one at a time.

Calls are joined: whoever wants what is under way already waits for it with those who began it. Who stops waiting ends
nothing.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from arriero_api.contract import Failure, Phase
from arriero_runtime.engine.protocol import AsgiApp, Engine
from arriero_runtime.failing import StartError, failure
from arriero_runtime.messages import Drained
from arriero_runtime.model import Model
from arriero_runtime.registrations import Applied
from arriero_runtime.server import refusals
from arriero_runtime.server.answers import engine_gone
from arriero_runtime.server.bringup import BringUp
from arriero_runtime.server.cause import Cause, explained
from arriero_runtime.server.pulse import death
from arriero_runtime.server.refusals import RegistrationRefused
from arriero_runtime.server.resident import Resident
from arriero_runtime.server.tasks import Tasks
from arriero_runtime.server.wish import Wish, unlike
from arriero_runtime.server.withdrawal import Withdrawn

_LAST_WORDS_SECONDS: Final = 2.0
_REMEMBERED: Final = 1000
"""Names that were unregistered: to do so again is no error."""
_NAMES: Final = 256
"""Of one model at a time: each is kept with what its registration said, and told in every list."""
Drain = Callable[[Engine], Awaitable[Drained]]
log = logging.getLogger(__name__)


class Registry:
    """`drain` waits for the requests under way when the last name goes; `cause` knows why an engine has ended."""

    def __init__(self, start: BringUp, tasks: Tasks, drain: Drain, cause: Cause) -> None:
        self._start = start
        self._life = start.life
        self._tasks = tasks
        self._drain = drain
        self._cause = cause
        self._resident: Resident | None = None
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
        if fault := unlike(wish, self._start.dispatcher.facts):
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

    def _move_in(self, model: Model) -> Resident:
        self._life.enter(Phase.RESOLVING, "looking for the model, checking the engine's arguments")
        self._start.dispatcher.facts.of_model(model.uri)
        self._resident = Resident(model, {}, self._tasks.start(self._load(model)))
        return self._resident

    async def _load(self, model: Model) -> RegistrationRefused | None:
        try:
            engine = await self._start.run(model)
        except Withdrawn:
            await self._clear(None)
            return refusals.withdrawn()
        except StartError as error:
            found = error.failure
        except Exception as error:
            log.exception("the start failed")
            words = f"{type(error).__name__}: {error}"
            found = failure("EngineFailed", words, self._life.phase)
        else:
            assert self._resident is not None
            self._resident.watch = self._tasks.start(self._watch(engine))
            return None
        return refusals.failed(await self._cleared(found))

    async def _watch(self, engine: Engine) -> None:
        """A dead engine is cleared away, and the next registration starts another."""
        await death(engine)
        self._leaving = asyncio.current_task()
        found = failure("EngineDied", "The engine's process has ended.", self._life.phase)
        # What is left of it takes its time to end: nobody is to be sent here meanwhile.
        self._life.enter(Phase.DRAINING, "the engine has died")
        try:
            dispatcher = self._start.dispatcher
            dispatcher.refusing = True
            dispatcher.cut_all(engine_gone())
            await dispatcher.idle(_LAST_WORDS_SECONDS)
            await self._cleared(found)
        finally:
            self._leaving = None

    async def _leave(self, resident: Resident) -> None:
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

    async def _cleared(self, found: Failure) -> Failure:
        """As `_clear`. Returns the failure as it is told: with what the log knows of a vague one."""
        await self._start.free()
        found = explained(found, await self._cause.told())
        await self._clear(found)
        return found

    async def _clear(self, found: Failure | None) -> None:
        """Back to Empty: no engine, no names; of a failure only its words are left."""
        await self._start.free()
        if found is None:
            await self._cause.told()  # the next model's log begins here
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

    async def _take_back(self, resident: Resident, wish: Wish, before: Wish | None) -> None:
        if before is not None:
            resident.wishes[wish.name] = before
        elif self._resident is resident and resident.wishes.get(wish.name) is wish:
            await self.unregister(wish.name)

    def _tell(self, resident: Resident) -> None:
        """The engine answers for these names from now on, the oldest as the model's own."""
        registrations = resident.registrations
        self._start.names.apply(Applied(registrations, registrations.hash))

    def _forget(self, name: str) -> None:
        self._past[name] = None
        if len(self._past) > _REMEMBERED:
            del self._past[next(iter(self._past))]
