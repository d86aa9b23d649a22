"""A fault of the operator itself, or a spec of which it understands nothing: the model says so."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from arriero_operator.applying.obstacles import PATIENCE, Hesitation
from arriero_operator.cache.store import Cache
from arriero_operator.kube.adapter import ApiServer
from arriero_operator.kube.errors import Conflict
from arriero_operator.kube.protocol import MODELS, PODS, Object
from arriero_operator.reconcile.net import Net
from arriero_operator.work.keys import Key
from arriero_operator.work.queue import Queue
from arriero_operator.work.result import Fault, Result, TerminalError
from tests.operator.machinery.objects import make

pytestmark = pytest.mark.control_plane


class Faulty:
    """SCRIPTED: a reconcile that raises `error`, or succeeds where there is none."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self.result = Result()

    async def __call__(self, key: Key) -> Result:
        if self.error is not None:
            raise self.error
        return self.result


class World:
    """A model `tiny` on the API server, with a net above a reconcile that raises what is asked for."""

    def __init__(self, kube: ApiServer, namespace: str) -> None:
        self.kube, self.cache, self.key = kube, Cache(), (namespace, "tiny")
        self.time = 0.0
        self.faulty = Faulty(None)
        self.net = Net(self.faulty, kube, self.cache, hesitation=Hesitation(lambda: self.time))

    async def reconcile(self, error: Exception | None) -> Exception | None:
        """What the net raises where the reconcile raises `error`."""
        self.cache.put(MODELS, await self.kube.get(MODELS, *self.key))
        self.faulty.error = error
        try:
            await self.net(self.key)
        except Exception as raised:
            return raised
        return None

    async def status(self) -> dict[str, tuple[str, str, str]]:
        """Type → status, reason and message of each condition."""
        found = (await self.kube.get(MODELS, *self.key)).get("status") or {}
        return {one["type"]: (one["status"], one["reason"], one["message"]) for one in found.get("conditions") or ()}

    async def stand(self, status: Mapping[str, Any]) -> None:
        """Write a status as an earlier reconcile has."""
        intent = {**_model(self.key[0]), "status": status}
        await self.kube.apply(MODELS, intent, manager="arriero-status", subresource="status")

    def pod(self) -> Object:
        """One of the model's pods, which is ready."""
        pod = make(PODS, "tiny-pod", 1, stem="tiny")
        pod["metadata"] |= {"namespace": self.key[0]}
        pod["status"] = {"conditions": [{"type": "Ready", "status": "True"}]}
        return pod


def _model(namespace: str) -> Object:
    return {
        "apiVersion": MODELS.api_version,
        "kind": MODELS.kind,
        "metadata": {"namespace": namespace, "name": "tiny"},
    }


READY: Mapping[str, Any] = {
    "observedGeneration": 1,
    "url": "http://tiny",
    "replicas": 1,
    "readyReplicas": 1,
    "names": [{"name": "tiny", "kind": "Model", "state": "Registered", "pods": 1}],
    "conditions": [
        {
            "type": kind,
            "status": "True",
            "reason": kind,
            "message": "as it was",
            "observedGeneration": 1,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        for kind in ("Accepted", "Available", "Ready")
    ],
}


@pytest.fixture
async def world(kube: ApiServer, namespace: str) -> World:
    await kube.apply(MODELS, {**_model(namespace), "spec": {"model": {"uri": "hf://a/b"}}}, manager="test")
    return World(kube, namespace)


async def test_an_error_nobody_foresaw_is_told_by_its_class_and_tried_again(world: World) -> None:
    raised = await world.reconcile(ZeroDivisionError("with words of a user"))
    assert isinstance(raised, Fault) and isinstance(raised.__cause__, ZeroDivisionError)
    status = await world.status()
    stands, reason, message = status["Ready"]
    assert (stands, reason) == ("False", "OperatorFault")
    assert message.startswith("ZeroDivisionError in the operator, while it worked on generation 1.")
    assert "operator's log" in message and "words of a user" not in message
    assert status["Reconciling"][0] == "True" and "Stalled" not in status and "Accepted" not in status


async def test_a_spec_of_which_nothing_is_understood_is_told_as_not_accepted(world: World) -> None:
    raised = await world.reconcile(TerminalError("spec.model: Field required"))
    assert isinstance(raised, TerminalError)
    status = await world.status()
    assert status["Accepted"][:2] == status["Ready"][:2] == ("False", "SpecNotUnderstood")
    assert "spec.model: Field required" in status["Ready"][2]
    assert status["Stalled"][0] == "True" and "Reconciling" not in status


async def test_what_is_known_of_pods_that_serve_stays(world: World) -> None:
    await world.stand({**READY, "observedGeneration": 0})
    world.cache.put(PODS, world.pod())
    await world.reconcile(KeyError("x"))
    status = await world.status()
    assert status["Available"][0] == "True" and status["Accepted"] == ("True", "Accepted", "as it was")
    assert status["Ready"][:2] == ("False", "OperatorFault")
    written = (await world.kube.get(MODELS, *world.key))["status"]
    assert (written["names"], written["url"], written["readyReplicas"]) == (READY["names"], READY["url"], 1)


async def test_without_a_pod_that_serves_the_model_is_not_available(world: World) -> None:
    await world.stand({**READY, "observedGeneration": 0})
    world.cache.put(PODS, world.pod() | {"status": {}})
    await world.reconcile(KeyError("x"))
    assert (await world.status())["Available"][:2] == ("False", "NoReadyReplica")


async def test_a_fault_of_a_moment_takes_no_ready_model_back(world: World) -> None:
    await world.stand(READY)
    await world.reconcile(KeyError("x"))
    assert (await world.status())["Ready"][0] == "True"
    assert await world.reconcile(None) is None
    world.time += PATIENCE
    await world.reconcile(KeyError("x"))
    assert (await world.status())["Ready"][0] == "True", "it had passed: the patience begins anew"
    world.time += PATIENCE
    await world.reconcile(KeyError("x"))
    assert (await world.status())["Ready"][1] == "OperatorFault"


async def test_of_a_model_that_is_gone_nothing_is_remembered(world: World) -> None:
    await world.reconcile(KeyError("x"))
    world.faulty.result = Result(gone=True)
    await world.reconcile(None)
    assert not world.net._reporter._wrote


async def test_a_request_that_failed_is_not_told_as_a_fault(world: World) -> None:
    error = Conflict("of another")
    assert await world.reconcile(error) is error
    assert not await world.status()


async def test_a_fault_is_counted_apart_and_its_model_is_tried_again() -> None:
    counted: list[str] = []
    tries = asyncio.Queue[Key]()

    class Counts:
        def reconciled(self, outcome: str, seconds: float) -> None:
            counted.append(outcome)
            if outcome == "success":
                done.set()

    async def reconcile(key: Key) -> Result:
        tries.put_nowait(key)
        if tries.qsize() == 1:
            raise Fault("KeyError: x") from KeyError("x")
        return Result()

    done = asyncio.Event()
    queue = Queue(reconcile, 1, Counts(), jitter=lambda: 0.0)
    queue.add(("a", "b"))
    work = asyncio.create_task(queue.run())
    async with asyncio.timeout(30):
        await done.wait()
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    assert counted == ["fault", "success"]
