"""What a user wants is acted on at once, however short a time ago the model was reconciled; the rest can wait."""

import asyncio
from typing import Any

import pytest

from arriero_api import labels
from arriero_operator.cache.store import Cache
from arriero_operator.kube.protocol import DEPLOYMENTS, MODELS, Object
from arriero_operator.watching.intake import Intake
from arriero_operator.watching.news import Expected
from arriero_operator.work.calm import CALM
from arriero_operator.work.keys import Key
from arriero_operator.work.queue import Queue
from arriero_operator.work.result import Result
from tests.operator.machinery.objects import make
from tests.support.virtual_time import run_virtual

SOON = CALM / 4


def model(version: int, *, uid: str = "one", retry: str = "", **metadata: Any) -> Object:
    found = make(MODELS, "m", version, uid=uid)
    found["metadata"] |= {"annotations": {"note": str(version), **({labels.RETRY: retry} if retry else {})}, **metadata}
    return found


def child(version: int) -> Object:
    found = make(DEPLOYMENTS, "m", version)
    found["metadata"]["annotations"] = {labels.OWNER: "m"}
    return found


def reconciled(*events: tuple[float, str | None, Object], seconds: float = 0.0, ahead: Object | None = None) -> Any:
    """When, after the first event: each comes so long after the one before, and a reconcile takes `seconds`. `ahead` is
    in the cache before the last event, as the answer of a write is."""

    async def main() -> list[float]:
        cache, loop, began = Cache(), asyncio.get_running_loop(), list[float]()

        async def reconcile(key: Key) -> Result:
            began.append(loop.time())
            await asyncio.sleep(seconds)
            return Result()

        class Observer:
            def reconciled(self, outcome: str, seconds: float) -> None:
                assert outcome == "success"

        queue = Queue(reconcile, 1, Observer())
        intake = Intake(cache, Expected(), queue.told, queue.add, lambda _: None)
        running = asyncio.create_task(queue.run())
        for wait, happened, obj in events:
            await asyncio.sleep(wait)
            if ahead is not None and obj is events[-1][2]:
                cache.put(MODELS, ahead)
            intake(MODELS if obj["kind"] == MODELS.kind else DEPLOYMENTS, happened, obj)
        await asyncio.sleep(60)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return [round(when - began[0], 3) for when in began]

    return run_virtual(main())


WISHES: dict[str, tuple[str, Object]] = {
    "another spec": ("MODIFIED", model(2, generation=2)),
    "another try": ("MODIFIED", model(2, retry="1")),
    "an end": ("DELETED", model(2)),
    "an end that waits for somebody": ("MODIFIED", model(2, generation=2, deletionTimestamp="2026-01-01T00:00:00Z")),
    "another model of its name": ("ADDED", model(2, uid="two")),
}


@pytest.mark.parametrize(("happened", "wished"), WISHES.values(), ids=WISHES)
def test_what_a_user_wants_does_not_rest(happened: str, wished: Object) -> None:
    assert reconciled((0, "ADDED", model(1)), (SOON, happened, wished)) == [0, SOON]


def test_what_a_user_wants_while_the_model_is_reconciled_is_acted_on_as_that_ends() -> None:
    assert reconciled((0, "ADDED", model(1)), (1, "MODIFIED", model(2, generation=2)), seconds=3) == [0, 3]


def test_each_of_several_edits_is_acted_on_at_once_and_each_status_in_between_rests() -> None:
    edits = [(SOON, "MODIFIED", model(version, generation=version)) for version in (2, 3, 4)]
    status = (SOON, "MODIFIED", model(5, generation=4))
    assert reconciled((0, "ADDED", model(1)), *edits, status) == [0, SOON, 2 * SOON, 3 * SOON, 3 * SOON + CALM]


def test_an_edit_that_the_answer_of_a_write_told_before_its_own_event_does_not_rest() -> None:
    both = model(3, generation=2)
    assert reconciled((0, "ADDED", model(1)), (SOON, "MODIFIED", both), ahead=both) == [0, SOON]


@pytest.mark.parametrize("other", [model(2), child(2)], ids=["the status or a note", "a child"])
def test_what_no_user_wants_rests(other: Object) -> None:
    assert reconciled((0, "ADDED", model(1)), (SOON, "MODIFIED", other)) == [0, CALM]


def test_an_edit_that_only_a_new_list_tells_of_does_not_rest_and_one_that_it_repeats_does() -> None:
    first = (0.0, "ADDED", model(1))
    assert reconciled(first, (SOON, None, model(2, generation=2))) == [0, SOON]
    assert reconciled(first, (SOON, None, model(1))) == [0, CALM]


def test_what_the_first_list_tells_is_only_looked_at_once_more() -> None:
    told, changed = list[tuple[Key, bool]](), list[Key]()
    intake = Intake(
        Cache(), Expected(), lambda key, routine=False: told.append((key, routine)), changed.append, lambda _: None
    )
    intake(MODELS, None, model(1))
    assert (told, changed) == ([(("team", "m"), True)], [])
    intake(MODELS, "MODIFIED", model(2))
    assert (told[1:], changed) == ([(("team", "m"), False)], [])
    intake(MODELS, "MODIFIED", model(3, generation=2))
    assert changed == [("team", "m")]
