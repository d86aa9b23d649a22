"""Bounds for what vLLM and its processes are asked: vLLM waits without end for an answer that none is left to give."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

from arriero_runtime.engine.protocol import EngineGone, EngineSilent
from arriero_runtime.engine.vllm import processes
from arriero_runtime.supervisor import tree
from arriero_runtime.threads import apart

_T = TypeVar("_T")
_LOOK_SECONDS: Final = 0.25
_MARGIN_SECONDS: Final = 1.0
log = logging.getLogger(__name__)


def has_died(client: Any, members: Sequence[int]) -> bool:
    """Whether the engine with these processes is dead. `client` is AsyncLLM, which tells a worker's death only after it
    has waited for the others, which may be waiting for that one."""
    return bool(client.errored) or not all(tree.lives(pid) for pid in members)


async def answered(work: Coroutine[Any, Any, _T], gone: Callable[[], bool], seconds: float) -> _T:
    """The work's result. Raises EngineGone once `gone` says so, EngineSilent after `seconds`."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=_LOOK_SECONDS))[0]:
            if gone():
                raise EngineGone("the engine's processes have ended")
            if loop.time() >= deadline:
                raise EngineSilent(f"the engine did not answer within {seconds:g} seconds")
        if task.exception() is not None and gone():
            raise EngineGone("the engine's processes have ended") from task.exception()
        return task.result()
    finally:
        task.cancel()


async def end(client: Any, seconds: float) -> None:
    """The end of the engine's processes, by force after `seconds`: vLLM's own way first waits for what its threads have
    in hand. `client` is AsyncLLM, or None where there is none yet."""
    shared = await apart(lambda: processes.shared_by(processes.members()))
    if client is not None:
        with contextlib.suppress(Exception):  # a TimeoutError too
            await asyncio.wait_for(apart(client.shutdown, seconds), seconds + _MARGIN_SECONDS)
    if left := await apart(processes.end, seconds, shared):
        log.warning("these processes of the engine cannot be ended: %s", left)
