"""The orderly stop: still accept for a while, then refuse, let requests end, cut what is left."""

import asyncio
import logging
from typing import Final

from arriero_api.contract import Phase
from arriero_runtime.engine.protocol import Engine
from arriero_runtime.lifecycle import LifeCycle
from arriero_runtime.messages import Drained
from arriero_runtime.server import answers
from arriero_runtime.server.answers import cut_off
from arriero_runtime.server.dispatch import Dispatcher

_LAST_CHUNKS_SECONDS: Final = 3.0
"""For the last words of requests that were aborted, to reach their clients."""
_TELL_NO_ABORT: Final = (answers.RESPONSES, answers.MESSAGES)
"""APIs in which the engine's application tells an aborted answer as a complete one, or as one without a reason."""
log = logging.getLogger(__name__)


async def drain(
    life: LifeCycle,
    dispatcher: Dispatcher,
    engine: Engine,
    *,
    endpoint_delay_seconds: float,
    drain_seconds: float,
) -> Drained:
    """Not ready from the first moment on; returns when no request is under way any more.

    The endpoint delay is waited also when nothing is under way: clients learn late that this pod is not ready.
    """
    life.enter(Phase.DRAINING, "requests are still accepted until every client knows")
    before = dispatcher.completed + dispatcher.cut
    await asyncio.sleep(endpoint_delay_seconds)
    dispatcher.refusing = True
    life.progress(f"{dispatcher.in_flight} requests may end")
    log.info("drain: refusing requests, %d under way", dispatcher.in_flight)
    idle = await dispatcher.idle(drain_seconds)
    # Counted before anything is aborted: a request that does not even end then is an aborted one all the same.
    ended, aborted = dispatcher.completed + dispatcher.cut - before, dispatcher.in_flight
    if not idle:
        log.warning("drain: %d requests did not end within %g seconds", aborted, drain_seconds)
        dispatcher.cut_all(cut_off(), _TELL_NO_ABORT)
        await engine.abort_all()
        if not await dispatcher.idle(_LAST_CHUNKS_SECONDS):
            dispatcher.cut_all(cut_off())
            await dispatcher.idle(_LAST_CHUNKS_SECONDS)
    return Drained(completed=ended, aborted=aborted)
