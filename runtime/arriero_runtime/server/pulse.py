"""Signs of life for the supervisor: a heartbeat each second, the engine's metrics now and then."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from arriero_api.contract import Phase
from arriero_runtime.engine.protocol import Counters, Engine
from arriero_runtime.messages import HEARTBEAT_SECONDS, SNAPSHOT_SECONDS, Heartbeat, Message, MetricsSnapshot
from arriero_runtime.server.dispatch import Dispatcher
from arriero_runtime.stuck import Stuck

_DEATH_LOOK_SECONDS: Final = 0.25
_SHORTEST_GAP_SECONDS: Final = 0.25
"""Between heartbeats, however often one is wished at once."""
ASK_SECONDS: Final = 10.0
"""An engine that made no step for so long, and has lost its requests meanwhile, is asked a question of our own."""
log = logging.getLogger(__name__)


class Pulse:
    """Tells the supervisor how the server and its engine are. `engine` gives the engine once there is one."""

    def __init__(
        self,
        post: Callable[[Message], object],
        dispatcher: Dispatcher,
        engine: Callable[[], Engine | None],
        ask_seconds: float = ASK_SECONDS,
    ) -> None:
        self._post = post
        self._dispatcher = dispatcher
        self._engine = engine
        self._ask_seconds = ask_seconds
        self._wished = asyncio.Event()
        self._stuck = Stuck(0.0)
        self._question: asyncio.Task[None] | None = None

    def now(self) -> None:
        """Tell at once: something has changed that should be seen."""
        self._wished.set()

    async def beat(self) -> None:
        """Never returns. The lag is how much later than wished the loop came back."""
        loop = asyncio.get_running_loop()
        lag = 0.0
        while True:
            self._wished.clear()
            self._tell(lag, loop.time())
            due = loop.time() + HEARTBEAT_SECONDS
            await asyncio.sleep(_SHORTEST_GAP_SECONDS)
            try:
                async with asyncio.timeout_at(due):
                    await self._wished.wait()
            except TimeoutError:
                pass
            lag = max(0.0, loop.time() - due)

    def _tell(self, lag: float, now: float) -> None:
        running = self._engine()
        counters = running.counters() if running else Counters()
        in_flight = self._dispatcher.in_flight
        self._dispatcher.life.in_flight(in_flight)
        self._post(Heartbeat(round(lag, 3), in_flight, counters.tokens, counters.steps, counters.requests))
        self._stuck.hear(now, counters.requests, counters.steps)
        if running and not counters.requests and self._stuck.seconds(now) > self._ask_seconds:
            self._ask(running)

    def _ask(self, engine: Engine) -> None:
        """A hung engine without requests would stay unproven for ever, and a recovered one not ready for ever."""
        if self._dispatcher.life.phase is Phase.READY and (self._question is None or self._question.done()):
            log.warning("the engine makes no step: asking it a question")
            self._question = asyncio.get_running_loop().create_task(_question(engine))

    async def snapshots(self) -> None:
        """Never returns. Our own counts, then the engine's series, rendered in a thread as they are long; where these
        cannot be had, the next time may be better."""
        while True:
            self._post(MetricsSnapshot(self._dispatcher.counts.text() + await self._series()))
            await asyncio.sleep(SNAPSHOT_SECONDS)

    async def _series(self) -> str:
        if running := self._engine():
            try:
                return await asyncio.to_thread(running.metrics)
            except Exception:
                log.exception("the engine's metrics cannot be read")
        return ""

    def close(self) -> None:
        """Take the question back."""
        if self._question is not None:
            self._question.cancel()


async def _question(engine: Engine) -> None:
    try:
        await engine.first_answer()
    except Exception as error:
        log.warning("the engine's answer to the question: %r", error)


async def death(engine: Engine) -> None:
    """Returns when the engine is dead."""
    while not engine.errored:  # noqa: ASYNC110 - the engine has no event for it
        await asyncio.sleep(_DEATH_LOOK_SECONDS)
