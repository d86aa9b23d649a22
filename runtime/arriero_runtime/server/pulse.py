"""Signs of life for the supervisor: a heartbeat each second, the engine's metrics now and then."""

import asyncio
from collections.abc import Callable
from typing import Final

from arriero_runtime.channel import HEARTBEAT_SECONDS, SNAPSHOT_SECONDS, Heartbeat, Message, MetricsSnapshot
from arriero_runtime.engine.protocol import Counters, Engine
from arriero_runtime.server.dispatch import Dispatcher

_DEATH_LOOK_SECONDS: Final = 0.25


async def beat(post: Callable[[Message], object], dispatcher: Dispatcher, engine: Callable[[], Engine | None]) -> None:
    """Never returns. The lag is how much later than wished the loop came back."""
    loop = asyncio.get_running_loop()
    due = loop.time()
    while True:
        lag = max(0.0, loop.time() - due)
        running = engine()
        counters = running.counters() if running else Counters()
        dispatcher.life.in_flight(dispatcher.in_flight)
        post(Heartbeat(round(lag, 3), dispatcher.in_flight, counters.tokens, counters.steps))
        due = loop.time() + HEARTBEAT_SECONDS
        await asyncio.sleep(HEARTBEAT_SECONDS)


async def snapshots(post: Callable[[Message], object], engine: Callable[[], Engine | None]) -> None:
    """Never returns. Rendered in a thread, as the text is long."""
    while True:
        if running := engine():
            post(MetricsSnapshot(await asyncio.to_thread(running.metrics)))
        await asyncio.sleep(SNAPSHOT_SECONDS)


async def death(engine: Engine) -> None:
    """Returns when the engine is dead."""
    while not engine.errored:  # noqa: ASYNC110 - the engine has no event for it
        await asyncio.sleep(_DEATH_LOOK_SECONDS)
