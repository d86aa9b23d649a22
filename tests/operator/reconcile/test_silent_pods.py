"""Models whose pods leave questions unanswered or load for minutes: what that costs others.

In virtual time, on the whole reconcile and its queue; the API server and the runtimes are fakes.
"""

import asyncio
import copy
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from arriero_api import labels
from arriero_api.contract import Phase, Progress, RuntimeStatus
from arriero_operator.cache.kube import CachedKube
from arriero_operator.cache.store import Cache
from arriero_operator.configuration.settings import Profile, Settings
from arriero_operator.kube.errors import NotFound
from arriero_operator.kube.protocol import MODELS, PODS, Kind, Object
from arriero_operator.observing.runtime_status import RuntimeStatuses
from arriero_operator.pods.facts import timestamp
from arriero_operator.reconcile.reconciler import Reconciler
from arriero_operator.watching.news import Expected
from arriero_operator.work.keys import Key
from arriero_operator.work.queue import Queue
from arriero_operator.work.result import Result
from tests.operator.machinery.objects import make
from tests.operator.reconcile.made import START
from tests.support.virtual_time import run_virtual

SETTINGS = Settings((), "cpu", "", 4, {"cpu": Profile("cpu", "i")})


class Store:
    """An API server that keeps what it is given, and has never heard of anything else."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, str, str], Object] = {}
        self._version = 100

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        if (found := self._objects.get((kind.kind, namespace, name))) is None:
            raise NotFound(f"{kind.plural} {name!r} not found", 404)
        return copy.deepcopy(found)

    async def list(self, kind: Kind, namespace: str | None, labels: str = "", metadata_only: bool = False) -> list[Any]:
        return []

    async def create(self, kind: Kind, obj: Object) -> Object:
        return obj

    async def apply(
        self, kind: Kind, obj: Object, *, manager: str, force: bool = True, subresource: str = ""
    ) -> Object:
        return self.put(kind, obj)

    async def merge_patch(self, kind: Kind, namespace: str, name: str, patch: Mapping[str, Any]) -> Object:
        await self.get(kind, namespace, name)
        return self.put(kind, {**patch, "metadata": {**patch["metadata"], "namespace": namespace, "name": name}})

    def put(self, kind: Kind, obj: Object) -> Object:
        """Lay it over what is there."""
        self._version += 1
        place = (kind.kind, obj["metadata"]["namespace"], obj["metadata"]["name"])
        made = {"uid": f"{kind.kind}-{place[2]}", "creationTimestamp": timestamp(START), "generation": 1}
        found = self._objects.setdefault(place, {"metadata": made})
        _merge(found, copy.deepcopy(obj))
        found["metadata"]["resourceVersion"] = str(self._version)
        return copy.deepcopy(found)


def _merge(onto: Object, what: Object) -> None:
    for key, value in what.items():
        if isinstance(value, dict) and isinstance(onto.get(key), dict):
            _merge(onto[key], value)
        elif value is None:
            onto.pop(key, None)
        else:
            onto[key] = value


class World:
    """Models of one pod each that runs and is not ready. `answers` has what pods answer, by IP address; others keep
    silent. `done` has when each key was reconciled, in seconds from the start."""

    def __init__(self) -> None:
        self.answers: dict[str, RuntimeStatus] = {}
        self.slow: dict[str, float] = {}
        """Seconds until the answer, by IP address."""
        self.done: dict[Key, list[float]] = {}
        self.store, self.cache, self.expected = Store(), Cache(), Expected()
        statuses = RuntimeStatuses(self._fetch, asyncio.get_running_loop().time, lambda key: self.queue.add(key))
        kube = CachedKube(self.store, self.cache)  # type: ignore[arg-type]
        self._reconcile = Reconciler(
            kube,
            self.cache,
            SETTINGS,
            statuses,
            self.expected,
            lambda: START + timedelta(seconds=now()),
            lambda key: None,
        )
        self.queue = Queue(self._reconciled, SETTINGS.workers, self)

    async def model(self, name: str, ip: str) -> Key:
        """Make one and its pod, which the queue does not know of yet."""
        key = ("team", name)
        model = make(MODELS, name, 1, spec={"model": {"uri": "hf://a/b"}})
        self.cache.put(MODELS, self.store.put(MODELS, model))
        await self._reconcile(key)
        pod = make(PODS, f"{name}-pod", 1, stem=name)
        pod["metadata"]["labels"] |= {labels.REVISION: self._status(key)["model"]["wanted"]}
        pod["status"] = {
            "phase": "Running",
            "podIP": ip,
            "containerStatuses": [
                {"name": "runtime", "ready": False, "state": {"running": {"startedAt": timestamp(START)}}}
            ],
        }
        pod["spec"] = {"nodeName": "n"}
        self.cache.put(PODS, self.store.put(PODS, pod))
        return key

    def said(self, key: Key) -> str:
        """The progress that the status tells."""
        return str(self._status(key).get("progress", {}).get("message", ""))

    def _status(self, key: Key) -> Object:
        model = self.cache.get(MODELS, *key)
        assert model is not None
        status: Object = model["status"]
        return status

    def reconciled(self, outcome: str, seconds: float) -> None:
        """As the queue's observer."""
        assert outcome == "requeue"

    async def _fetch(self, ip: str) -> RuntimeStatus:
        if ip not in self.answers:
            await asyncio.Event().wait()
        await asyncio.sleep(self.slow.get(ip, 0))
        return self.answers[ip]

    async def _reconciled(self, key: Key) -> Result:
        found = await self._reconcile(key)
        self.done.setdefault(key, []).append(now())
        return found


def now() -> float:
    """Virtual seconds from the start."""
    return asyncio.get_running_loop().time() - 1000


def play(script: Callable[[World], Awaitable[None]]) -> None:
    """Run a world's queue while `script` lasts."""

    async def main() -> None:
        world = World()
        running = asyncio.create_task(world.queue.run())
        await script(world)
        running.cancel()
        assert isinstance(*await asyncio.gather(running, return_exceptions=True), asyncio.CancelledError)

    run_virtual(main())


def loading(words: str) -> RuntimeStatus:
    return RuntimeStatus(Phase.LOADING, Progress(50, words))


def test_two_hundred_models_whose_pods_keep_silent_delay_no_other() -> None:
    async def script(world: World) -> None:
        cut_off = [await world.model(f"cut-{number}", f"10.1.0.{number}") for number in range(200)]
        other = await world.model("other", "10.2.0.1")
        world.answers["10.2.0.1"] = loading("half of it")
        for key in (*cut_off, other):
            world.queue.add(key)
        await asyncio.sleep(1)
        assert all(world.done.get(key) for key in (*cut_off, other))
        assert "half of it" in world.said(other)
        await asyncio.sleep(2.1)  # in vain all of them have been asked once more
        world.queue.add(other)
        asked = now()
        await asyncio.sleep(0.3)
        assert world.done[other][-1] >= asked

    play(script)


@pytest.mark.parametrize("seconds", [0.1, 0.5])
def test_an_answer_is_told_as_soon_as_it_comes(seconds: float) -> None:
    async def script(world: World) -> None:
        key = await world.model("tiny", "10.2.0.1")
        world.slow["10.2.0.1"] = seconds
        world.answers["10.2.0.1"] = loading("half of it")
        world.queue.add(key)
        await asyncio.sleep(seconds + 0.01)
        assert "half of it" in world.said(key)
        assert len(world.done[key]) == (1 if seconds < 0.25 else 2)

    play(script)


def test_a_pod_that_answers_again_after_silence_is_told_of_at_once() -> None:
    async def script(world: World) -> None:
        key = await world.model("tiny", "10.2.0.1")
        world.queue.add(key)
        await asyncio.sleep(60)
        world.answers["10.2.0.1"] = loading("half of it")
        await asyncio.sleep(10.1)
        assert "half of it" in world.said(key)

    play(script)


@pytest.mark.parametrize("answers", [True, False])
def test_a_model_that_loads_for_minutes_is_looked_at_more_and_more_rarely(answers: bool) -> None:
    async def script(world: World) -> None:
        key = await world.model("tiny", "10.2.0.1")
        if answers:
            world.answers["10.2.0.1"] = loading("half of it")
        world.queue.add(key)
        await asyncio.sleep(600)
        found = world.done[key]
        early = [when for when in found if when <= 20]
        assert len(early) >= 18 if answers else len(early) <= 10
        assert len(found) <= 120
        assert max(later - earlier for earlier, later in pairwise(found)) <= 10.1

    play(script)
