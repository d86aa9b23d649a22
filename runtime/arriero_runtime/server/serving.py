"""The whole life of the server: open the port, bring the model up, serve, drain, end."""

import asyncio
import logging
import socket
from functools import partial
from typing import Any, Final

from arriero_api.contract import ContractError, Failure, Phase, RuntimeStatus
from arriero_api.pod import ENGINE_STOP_SECONDS
from arriero_runtime import registrations, wording
from arriero_runtime.channel import Channel
from arriero_runtime.cli import ServeOptions
from arriero_runtime.engine.protocol import Engine, EngineLoader
from arriero_runtime.failing import StartError, failure
from arriero_runtime.lifecycle import LifeCycle
from arriero_runtime.messages import Drained, Failed, Message, Status
from arriero_runtime.model import Model
from arriero_runtime.server import http
from arriero_runtime.server.answers import engine_gone
from arriero_runtime.server.bringup import BringUp
from arriero_runtime.server.cause import Cause
from arriero_runtime.server.dispatch import Dispatcher
from arriero_runtime.server.drain import drain
from arriero_runtime.server.keys import Keys, KeysUnusable
from arriero_runtime.server.names import Names
from arriero_runtime.server.orders import Orders
from arriero_runtime.server.pulse import Pulse, death
from arriero_runtime.server.registry import Registry
from arriero_runtime.server.tasks import Tasks
from arriero_runtime.threads import apart

_FLUSH_SECONDS: Final = 2.0
_ENGINE_SECONDS: Final = ENGINE_STOP_SECONDS - 8
"""The rest of the engine's time is for the last words of aborted requests."""
_LAST_WORDS_SECONDS: Final = 1.0
log = logging.getLogger(__name__)


class Serving:
    """One server. `channel` is None where no supervisor has started it."""

    def __init__(self, options: ServeOptions, loader: EngineLoader, channel: Channel | None) -> None:
        wording.choose(alone=options.allow_registration)
        self._options = options
        self._channel = channel
        self.life = LifeCycle(self._tell)
        self.dispatcher = Dispatcher(
            self.life, options.request_timeout_seconds, options.model, alone=options.allow_registration
        )
        self.names = Names(self.life)
        self._start = BringUp(options, loader, self.life, self.dispatcher, self.names)
        self._http = http.make(self.dispatcher)
        self._pulse = Pulse(self._post, self.dispatcher, lambda: self._start.engine)
        self.dispatcher.on_busy, self.dispatcher.abort = self._pulse.now, self._http.abort
        self.cause = Cause(supervised=channel is not None)
        self._stop = asyncio.Event()
        self._orders = Orders(channel, self.stop, self.give_up, lambda told: self.cause.hear(told))
        self._tasks = Tasks()
        self._given_up: asyncio.Future[Failure] = asyncio.get_running_loop().create_future()

    def _tell(self, status: RuntimeStatus) -> None:
        self.dispatcher.counts.enter(status.phase)
        self._post(Status(status))

    def _post(self, message: Message) -> None:
        if self._channel is not None:
            self._channel.send(message)

    def stop(self) -> None:
        """Drain and end. Harmless when repeated."""
        self._stop.set()

    def give_up(self, found: Failure) -> None:
        """End the requests under way with an error, then end. Harmless when repeated."""
        if not self._given_up.done():
            self._given_up.set_result(found)

    async def run(self) -> int:
        """The exit code: 0 after a drain, 1 after a failure."""
        try:
            self._need_keys()
        except KeysUnusable as error:
            return await self._fail(failure("InvalidArguments", f"--api-key-file: {error}", Phase.EMPTY))
        try:
            listening = http.listen(self._options.host, self._options.port)
        except OSError as error:
            return await self._fail(failure("EngineFailed", f"Port {self._options.port}: {error}", Phase.EMPTY))
        self._orders.listen()
        serving = self._tasks.essential(f"port {self._options.port}", self._http.serve(sockets=[listening]))
        self._tasks.essential("the heartbeat", self._pulse.beat())
        self._tasks.essential("the metrics", self._pulse.snapshots())
        try:
            return await self._live()
        finally:
            await self._close(serving, listening)

    def _need_keys(self) -> None:
        if self._options.api_key_file is not None:
            self.dispatcher.gate.keys = Keys(self._options.api_key_file)

    async def _live(self) -> int:
        stop = self._tasks.start(self._stop.wait())
        if self._options.allow_registration:
            return await self._live_alone(stop)
        self.life.enter(Phase.RESOLVING, "looking for the model, checking the engine's arguments")
        try:
            applied = registrations.read(self._options.registrations)
        except ContractError as error:
            return await self._fail(failure("RegistrationsInvalid", str(error), Phase.RESOLVING))
        self.names.apply(applied)
        self._tasks.essential("the file of names", self._follow_registrations())
        model = Model(self._options.model, self._options.revision, applied.registrations.commit)
        start = self._tasks.start(self._start.run(model))
        await self._first({stop, start})
        if not start.done():
            return await self._broke() if self._broken else self._stop_in_start()
        try:
            engine = start.result()
        except StartError as error:
            return await self._fail(error.failure)
        except Exception as error:
            log.exception("the start failed")
            return await self._fail(failure("EngineFailed", f"{type(error).__name__}: {error}", self.life.phase))
        return await self._serve(engine, stop)

    async def _live_alone(self, stop: "asyncio.Task[Any]") -> int:
        """Clients say what is served: a model that fails ends nothing."""
        drain_at_once = partial(self._drain, endpoint_delay_seconds=0)
        registry = Registry(self._start, self._tasks, drain_at_once, self.cause)
        self.dispatcher.registrar = registry
        log.info("no model yet: POST /v1/models registers one")
        self.life.progress("no model yet")  # else the status would still say that the server starts
        await self._first({stop})
        if self._broken:
            return await self._broke()
        engine = await registry.close()
        return self._stop_in_start() if engine is None else await self._serve(engine, stop)

    async def _serve(self, engine: Engine, stop: "asyncio.Task[Any]") -> int:
        dead = self._tasks.start(death(engine))
        await self._first({stop, dead})
        if stop.done() and not dead.done() and not self._broken:
            drained = self._tasks.start(self._drain(engine, self._options.endpoint_delay_seconds))
            self._pulse.now()
            await self._first({drained, dead})
            if drained.done():
                self._post(drained.result())
                return await self._end_engine(engine)
        if self._broken:
            return await self._broke()
        return await self._fail(failure("EngineDied", "The engine's process has ended.", self.life.phase))

    async def _first(self, tasks: "set[asyncio.Task[Any]]") -> None:
        """Wait for one of the tasks, or for the end of what the server cannot be without."""
        await asyncio.wait({*tasks, self._tasks.broken, self._given_up}, return_when=asyncio.FIRST_COMPLETED)

    @property
    def _broken(self) -> bool:
        return self._tasks.broken.done() or self._given_up.done()

    async def _broke(self) -> int:
        if self._given_up.done():
            return await self._fail(self._given_up.result())
        words = f"The server has lost a part of itself: {self._tasks.broken.result()}"
        return await self._fail(failure("RuntimeExited", words, self.life.phase))

    def _stop_in_start(self) -> int:
        """Nothing is served yet, so there is nothing to wait for; the supervisor ends what is left running."""
        log.info("stopped while starting, in phase %s", self.life.phase)
        self.dispatcher.refusing = True
        self.life.enter(Phase.DRAINING)
        self._post(Drained(0, 0))
        return 0

    async def _drain(self, engine: Engine, endpoint_delay_seconds: float) -> Drained:
        return await drain(
            self.life,
            self.dispatcher,
            engine,
            endpoint_delay_seconds=endpoint_delay_seconds,
            drain_seconds=self._options.drain_seconds,
        )

    async def _end_engine(self, engine: Engine) -> int:
        self.life.progress("stopping the engine")
        self._http.should_exit = True
        try:
            await asyncio.wait_for(engine.stop(_ENGINE_SECONDS), ENGINE_STOP_SECONDS)
        except TimeoutError:
            log.warning("the engine did not stop within %d seconds", ENGINE_STOP_SECONDS)
        self.dispatcher.app = None
        self.life.enter(Phase.EMPTY)
        return 0

    async def _fail(self, found: Failure) -> int:
        log.error("%s: %s", found.reason, found.message)
        self.dispatcher.refusing = True
        self.life.fail(found)
        self._post(Failed(found))
        if not await self.dispatcher.idle(_LAST_WORDS_SECONDS):
            self.dispatcher.cut_all(engine_gone())
            await self.dispatcher.idle(_LAST_WORDS_SECONDS)
        return 1

    async def _follow_registrations(self) -> None:
        await registrations.watch(
            self._options.registrations,
            self.names.applied,
            self.names.apply,
            lambda words: log.warning("%s", words),
        )

    async def _close(self, serving: asyncio.Task[Any], listening: socket.socket) -> None:
        self._http.should_exit = True
        await asyncio.wait({serving}, timeout=3 + _LAST_WORDS_SECONDS)
        self._orders.close()
        self._pulse.close()
        await self._tasks.cancel()
        await self.names.adapters.close()
        listening.close()
        if self._channel is not None:
            await apart(self._channel.flush, _FLUSH_SECONDS)
