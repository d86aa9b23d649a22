"""Tasks of the server: what they had in hand is given away at their end, and none ends in silence."""

import asyncio
import gc
import weakref

import pytest

from arriero_api.contract import Phase
from arriero_runtime.failing import start_error
from arriero_runtime.server.tasks import Tasks


class Held:
    """Stands for what a task has in hand."""


async def _hold(held: Held, until: asyncio.Event) -> None:
    await until.wait()
    raise start_error("EngineFailed", f"{type(held).__name__} is lost.", Phase.LOADING)


@pytest.mark.parametrize("way", ["cancelled", "failed"])
async def test_what_an_ended_task_had_in_hand_is_not_kept(way: str) -> None:
    tasks, until, held = Tasks(), asyncio.Event(), Held()
    seen = weakref.ref(held)
    task = tasks.start(_hold(held, until))
    await asyncio.sleep(0)
    if way == "cancelled":
        task.cancel()
    else:
        until.set()
    await asyncio.wait({task})
    del task, held
    await asyncio.sleep(0)
    gc.collect()
    assert seen() is None
    await tasks.cancel()


async def test_the_end_of_an_essential_task_is_told_with_its_reason_however_late_one_looks() -> None:
    tasks, until = Tasks(), asyncio.Event()
    until.set()
    task = tasks.essential("the pulse", _hold(Held(), until))
    await asyncio.wait({task})
    await asyncio.sleep(0)
    await tasks.cancel()
    assert tasks.broken.result() == "the pulse: StartError: EngineFailed: Held is lost."
