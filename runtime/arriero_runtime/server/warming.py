"""Between loaded and ready: does the engine live, and is its first answer one that a model with sound weights gives?"""

import asyncio
import math
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from arriero_api.contract import Phase
from arriero_runtime.engine.protocol import Engine, FirstAnswer
from arriero_runtime.failing import start_error
from arriero_runtime.lifecycle import LifeCycle
from arriero_runtime.server.pulse import death
from arriero_runtime.server.withdrawal import end

_T = TypeVar("_T")

_BLIND_MARGIN: Final = 0.001
"""Far below what even random weights know."""
_SECONDS: Final = 300.0
"""For one short answer, a compilation included."""


async def while_alive(engine: Engine, work: Coroutine[Any, Any, _T], life: LifeCycle) -> _T:
    """The work's result, unless the engine dies first, for which it might wait for ever. Raises StartError
    (EngineDied)."""
    working, dead = asyncio.ensure_future(work), asyncio.ensure_future(death(engine))
    try:
        await asyncio.wait({working, dead}, return_when=asyncio.FIRST_COMPLETED)
        if working.done() and (working.exception() or not engine.errored):
            return working.result()
        raise start_error("EngineDied", "The engine ended before the model was ready.", life.phase)
    finally:
        await end(working)
        await end(dead)


async def warm(engine: Engine) -> FirstAnswer:
    """The first answer. Raises StartError: NoUsableAnswer where nothing usable comes back, EngineDied."""
    try:
        async with asyncio.timeout(_SECONDS):
            answer = await engine.first_answer()
    except TimeoutError as error:
        words = f"The engine did not answer its first question within {_SECONDS:g} seconds."
        raise start_error("NoUsableAnswer", words, Phase.WARMING) from error
    except Exception as error:
        words = f"The engine could not answer its first question: {type(error).__name__}: {error}"
        # Why an engine is dead stands in its log, which the supervisor reads.
        reason = "EngineDied" if engine.errored else "NoUsableAnswer"
        raise start_error(reason, words[:500], Phase.WARMING) from error
    if fault := unusable(answer):
        raise start_error("NoUsableAnswer", f"The engine's first answer {fault}.", Phase.WARMING)
    return answer


def unusable(answer: FirstAnswer) -> str:
    """What is wrong with the answer, in words that follow "the answer"; empty when nothing is."""
    if not answer.values:
        return "is empty"
    if not all(math.isfinite(value) for value in answer.values):
        return "has numbers that are not finite"
    if answer.blind is None:
        return "is all zeros" if not any(answer.values) else ""
    if max(answer.values) < answer.blind + _BLIND_MARGIN:
        return "is a blind guess: every token is as likely as every other"
    return ""
