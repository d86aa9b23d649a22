"""A model that rests by the status that was just written is not reconciled once more for the event of that."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from arriero_api import labels
from arriero_api.contract import Phase, RuntimeStatus
from arriero_operator.kube.protocol import DEPLOYMENTS, MODELS, PODS, Kind, Object
from arriero_operator.watching.intake import Intake
from arriero_operator.work.keys import Key
from tests.operator.reconcile.test_silent_pods import World
from tests.support.virtual_time import run_virtual

IP = "10.0.0.1"
READY = [{"type": kind, "status": "True", "lastTransitionTime": "2030-01-01T00:00:00Z"} for kind in ("Ready", "X")]


class Watched(World):
    """A model with a pod that is ready. `woken` has the keys that events of the model have reached the queue with."""

    def __init__(self, *, early: bool = False, other: Object | None = None) -> None:
        super().__init__()
        self.woken: list[Key] = []
        self._intake = Intake(
            self.cache,
            self.expected,
            lambda key, routine=False: self.woken.append(key),
            self.woken.append,
            lambda kind: None,
        )
        self._early, self._other = early, other or {}
        self.answers[IP] = RuntimeStatus(phase=Phase.READY, effective={"maxModelLen": 4096})

    async def rest(self) -> float | None:
        """Reconcile it once it is ready; seconds until it asks for the next look."""
        self.key = await self.model("m", IP)
        pod = {"metadata": {"namespace": "team", "name": "m-pod", "creationTimestamp": "2030-01-01T00:00:00Z"}}
        self.cache.put(PODS, self.store.put(PODS, {**pod, "status": {"conditions": READY}}))
        counts = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1}
        self.cache.put(DEPLOYMENTS, self.store.put(DEPLOYMENTS, {"metadata": self._place, "status": counts}))
        written = self.store.apply

        async def apply(kind: Kind, obj: Object, **how: Any) -> Object:
            if kind is MODELS:
                self.store.put(MODELS, {"metadata": self._place, "status": {"progress": None}})
            found = await written(kind, obj, **how)
            if kind is MODELS and self._early:
                self.see()
            return found

        self.store.apply = apply  # type: ignore[method-assign]
        return (await self._reconcile(self.key)).requeue_after

    def see(self) -> None:
        """The watch tells of the model as it is, with what somebody else has changed."""
        self._intake(MODELS, "MODIFIED", self.store.put(MODELS, {"metadata": self._place | self._other}))

    def see_answer(self) -> None:
        """The watch tells of what the cache has by an answer."""
        found = self.cache.get(MODELS, *self.key)
        assert found is not None
        self._intake(MODELS, "MODIFIED", found)

    @property
    def _place(self) -> Object:
        return {"namespace": "team", "name": "m"}


def _in(world: Callable[[], Watched], play: Callable[[Watched], Awaitable[None]]) -> None:
    async def whole() -> None:
        await play(world())

    run_virtual(whole())


def test_a_model_that_has_become_ready_asks_for_no_further_look() -> None:
    async def play(world: Watched) -> None:
        assert await world.rest() is None

    _in(Watched, play)


@pytest.mark.parametrize("early", [False, True], ids=["after the answer", "before the answer"])
def test_the_event_of_its_status_wakes_nobody(early: bool) -> None:
    async def play(world: Watched) -> None:
        await world.rest()
        if not early:
            world.see_answer()
        assert world.woken == []
        world.see()
        assert world.woken == [world.key], "a later one does"

    _in(lambda: Watched(early=early), play)


@pytest.mark.parametrize("early", [False, True], ids=["after the answer", "before the answer"])
@pytest.mark.parametrize("other", [{"annotations": {"a": "b"}}, {"generation": 2}, {"deletionTimestamp": "2030"}])
def test_an_event_that_tells_of_the_status_and_of_something_else_wakes_the_model(early: bool, other: Object) -> None:
    async def play(world: Watched) -> None:
        await world.rest()
        if not early:
            world.see()
        assert world.woken == [world.key]

    _in(lambda: Watched(early=early, other=other), play)


def test_a_status_that_was_changed_by_somebody_else_wakes_the_model() -> None:
    async def play(world: Watched) -> None:
        await world.rest()
        world.store.put(MODELS, {"metadata": world._place, "status": {"readyReplicas": 7}})
        world.see()
        assert world.woken == [world.key]

    _in(Watched, play)


def test_nothing_is_left_of_a_deleted_model_once_its_pods_have_ended() -> None:
    async def play(world: Watched) -> None:
        key = await world.model("m", IP)
        owned = {"namespace": "team", "name": "m-pod", "annotations": {labels.OWNER: "m"}}
        world.cache.put(PODS, world.store.put(PODS, {"metadata": owned}))
        assert not (await world._reconcile(key)).gone
        for kind, name, left in ((MODELS, "m", True), (PODS, "m-pod", False)):
            found = world.cache.get(kind, "team", name)
            assert found is not None
            world.cache.drop(kind, "team", name, found["metadata"]["uid"])
            assert (await world._reconcile(key)).gone is not left

    _in(Watched, play)


def test_the_event_of_a_status_of_a_model_that_does_not_rest_wakes_it() -> None:
    async def play(world: Watched) -> None:
        world.key = await world.model("m", IP)
        world.see_answer()
        assert world.woken == [world.key]

    _in(Watched, play)
