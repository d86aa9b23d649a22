"""What only Events tell of pods: volumes, sandboxes, and nodes that an autoscaler brings."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from arriero_operator.kube.errors import Unavailable
from arriero_operator.kube.protocol import Kind, Object, Objects, Scope
from arriero_operator.observing.pod_events import AGAIN, PATIENCE, PodEvents, told
from arriero_operator.pods.facts import PodFacts, Told
from tests.conftest import MakeOperator
from tests.operator.reconcile.machines import machine, operator_on
from tests.operator.reconcile.made import OLD, START, pod, ready, running
from tests.operator.reconcile.models import events, model, patch_spec, read, until
from tests.operator.reconcile.pods import Pods, now
from tests.operator.reconcile.test_turnover import NEXT, WAIT, finish, held, serve, strategy
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl

KEY = ("team", "tiny")
MULTI_ATTACH = 'Multi-Attach error for volume "pvc-1" Volume is already exclusively attached to one node'


def event(reason: str, message: str = "words", second: int = 0) -> Object:
    """An Event as the kubelet writes it, last seen at that second."""
    return {
        "metadata": {"name": f"e{second}", "creationTimestamp": "2026-01-01T12:00:00Z"},
        "reason": reason,
        "message": message,
        "lastTimestamp": f"2026-01-01T12:00:{second:02}Z",
    }


SAID: dict[str, tuple[Objects, Told]] = {
    "nothing": ([event("Scheduled"), event("Pulling")], Told()),
    "a volume is attached elsewhere": (
        [event("Scheduled"), event("FailedAttachVolume", MULTI_ATTACH, 1)],
        Told("FailedAttachVolume", MULTI_ATTACH),
    ),
    "the newest counts": (
        [event("FailedMount", "later", 9), event("FailedAttachVolume", MULTI_ATTACH, 1)],
        Told("FailedMount", "later"),
    ),
    "it is attached by now": ([event("FailedAttachVolume", "x", 1), event("SuccessfulAttachVolume", "", 2)], Told()),
    "the kubelet has not seen a ConfigMap yet": (
        [event("FailedMount", "MountVolume.SetUp failed: failed to sync configmap cache: timed out")],
        Told(),
    ),
    "the network is not there": ([event("FailedCreatePodSandBox", "cni")], Told("FailedCreatePodSandBox", "cni")),
    "a node is brought": ([event("TriggeredScaleUp")], Told(node_coming=True)),
    "a node was brought to naught": ([event("TriggeredScaleUp"), event("NotTriggerScaleUp", "", 3)], Told()),
}


@pytest.mark.parametrize(("found", "wanted"), SAID.values(), ids=SAID)
def test_events_say(found: Objects, wanted: Told) -> None:
    assert told(found) == wanted
    assert told(reversed(found)) == wanted


class FakeKube:
    """Knows Events, or fails."""

    def __init__(self, *found: Object) -> None:
        self.found: Objects | None = list(found)
        self.asked: list[str] = []

    async def events_about(self, namespace: str, uid: str) -> Objects:
        """As Kube.events_about."""
        self.asked.append(uid)
        if self.found is None:
            raise Unavailable("away")
        return self.found

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        """Not needed here."""
        raise NotImplementedError

    async def list(
        self, kind: Kind, namespace: str | None = None, labels: str = "", metadata_only: bool = False
    ) -> Objects:
        """Not needed here."""
        raise NotImplementedError

    def each(self, kind: Kind, namespace: str | None = None, labels: str = "") -> AsyncIterator[Object]:
        """Not needed here."""
        raise NotImplementedError

    def listing(self, scope: Scope) -> AsyncIterator[tuple[str, Objects]]:
        """Not needed here."""
        raise NotImplementedError

    def watch(self, scope: Scope, version: str, *, seconds: int, silence: float) -> AsyncGenerator[Object, None]:
        """Not needed here."""
        raise NotImplementedError

    async def create(self, kind: Kind, obj: Object) -> Object:
        """Not needed here."""
        raise NotImplementedError

    async def apply(
        self, kind: Kind, obj: Object, *, manager: str, force: bool = True, subresource: str = ""
    ) -> Object:
        """Not needed here."""
        raise NotImplementedError

    async def try_create(self, kind: Kind, obj: Object) -> None:
        """Not needed here."""
        raise NotImplementedError

    async def merge_patch(self, kind: Kind, namespace: str, name: str, patch: Mapping[str, Any]) -> Object:
        """Not needed here."""
        raise NotImplementedError

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str) -> None:
        """Not needed here."""
        raise NotImplementedError


UNPLACED = pod("b", scheduled=False, scheduling_reason="Unschedulable")
NO_NODE = replace(
    UNPLACED,
    scheduling_message="0/2 nodes are available: 2 Insufficient nvidia.com/gpu. preemption: 0/2 nodes are available: "
    "2 Preemption is not helpful for scheduling.",
)
ASKED = {
    "one for which no node is large enough": ([NO_NODE], 0, True),
    "a pod that has a node and no sandbox for seconds": ([pod()], PATIENCE, True),
    "one that has just got its node": ([pod()], PATIENCE - 1, False),
    "one whose image is being pulled": ([pod(sandboxed=True, waiting="ContainerCreating")], 60, False),
    "one that runs": ([running()], 60, False),
    "one of which the kubelet says why": ([pod(waiting="CreateContainerConfigError")], 60, False),
    "one without a node beside an old one": ([ready("a", OLD), UNPLACED], 0, True),
    "one without a node beside one of a restart": ([ready("a"), UNPLACED], 0, True),
    "one without a node that replaces nothing": ([UNPLACED], 60, False),
    "one without a node beside one that leaves": ([ready("a", OLD, deleting=True), UNPLACED], 60, False),
    "one that is being deleted": ([pod(deleting=True)], 60, False),
}


@pytest.mark.parametrize(("pods", "after", "asked"), ASKED.values(), ids=ASKED)
async def test_asked_for_are_events_of(pods: list[PodFacts], after: float, asked: bool) -> None:
    kube = FakeKube()
    await PodEvents(kube).refresh(KEY, pods, START + timedelta(seconds=after))
    assert bool(kube.asked) == asked


async def test_a_pod_is_asked_about_rarer_the_longer_it_waits_and_what_was_heard_outlives_a_failure() -> None:
    kube, seconds = FakeKube(event("FailedMount", "no such volume")), 0.0
    heard = PodEvents(kube, lambda: seconds)
    looks = 0
    while seconds < 600:
        looks += 1
        again = await heard.refresh(KEY, [pod()], START + timedelta(seconds=seconds))
        assert again is not None
        seconds += again
        if len(kube.asked) == 1:
            kube.found = None
    assert heard.known(KEY, pod().uid) == Told("FailedMount", "no such volume")
    assert 600 / 30 <= len(kube.asked) <= 600 / 30 + 60 / AGAIN
    assert looks == len(kube.asked) + 1  # the first is before its time
    assert await heard.refresh(KEY, [running()], START + timedelta(seconds=600)) is None
    assert heard.known(KEY, pod().uid) == Told()


async def test_of_pods_that_no_node_will_do_for_one_is_asked_about_for_all_and_rarer_the_longer_they_wait() -> None:
    kube, seconds = FakeKube(event("TriggeredScaleUp", "a node comes")), 0.0
    heard = PodEvents(kube, lambda: seconds)
    pods = [replace(NO_NODE, name=f"p-{number}", uid=f"p-{number}") for number in range(40)]
    looks = 0
    while seconds < 86_400:
        again = await heard.refresh(KEY, pods, START + timedelta(seconds=seconds))
        assert again is not None
        seconds += again
        looks += 1
        assert all(heard.known(KEY, one.uid).node_coming for one in pods)
    assert set(kube.asked) == {"p-0"}
    assert looks == len(kube.asked) <= 86_400 / 600 + 30


async def test_of_many_pods_that_wait_few_are_asked_about_where_answers_take_long() -> None:
    kube, seconds = FakeKube(), 0.0
    heard = PodEvents(kube, lambda: seconds)

    async def slow(namespace: str, uid: str) -> Objects:
        nonlocal seconds
        kube.asked.append(uid)
        seconds += 1.0
        return []

    kube.events_about = slow  # type: ignore[method-assign]
    for number in range(100):
        again = await heard.refresh(("team", str(number)), [pod()], START + timedelta(seconds=PATIENCE))
        assert again is not None
        seconds += 0.25
        assert again >= 1.0
    assert 4 <= len(kube.asked) <= 6  # of which each takes a second, and the rest after it five


async def test_an_answer_that_took_long_does_not_put_off_the_next_question_about_a_pod_that_waits_for_a_node() -> None:
    seconds = 0.0
    heard = PodEvents(FakeKube(), lambda: seconds)
    asked: list[float] = []

    async def slow(namespace: str, uid: str) -> Objects:
        nonlocal seconds
        asked.append(seconds)
        seconds += 1.5
        return []

    heard.kube.events_about = slow  # type: ignore[method-assign]
    waiting = [ready("a", OLD), UNPLACED]
    while seconds < 15:
        again = await heard.refresh(KEY, waiting, START + timedelta(seconds=seconds))
        assert again is not None
        seconds += again
    assert len(asked) >= 3


def write(kubectl: Kubectl, about: Object, reason: str, message: str, component: str = "kubelet") -> None:
    """An Event about the pod."""
    metadata = about["metadata"]
    found = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": "e-", "namespace": kubectl.namespace},
        "involvedObject": {"kind": "Pod", "apiVersion": "v1", **{k: metadata[k] for k in ("name", "namespace", "uid")}},
        "reason": reason,
        "message": message,
        "type": "Warning",
        "firstTimestamp": now(),
        "lastTimestamp": now(),
        "count": 1,
        "source": {"component": component},
    }
    kubectl.run("create", "-f", "-", stdin=json.dumps(found))


@pytest.mark.control_plane
def test_a_volume_that_cannot_be_attached_is_told_in_the_words_of_the_event(served: Kubectl) -> None:
    served.apply(model("tiny"))
    pods = Pods(served, "tiny")
    (placed,) = pods.placed()
    write(served, placed, "FailedAttachVolume", MULTI_ATTACH, "attachdetach-controller")
    found = until(served, "tiny", "Ready", "False", "VolumeMountFailed", timeout=15)
    assert MULTI_ATTACH in found["message"]
    eventually(lambda: len(events(served, "tiny", "VolumeMountFailed")) == 1)
    pods.ready(placed)
    until(served, "tiny", "Ready", "True", "Ready")


@pytest.mark.control_plane
def test_a_pod_for_which_an_autoscaler_brings_a_node_is_waiting_and_no_failure_until_that_comes_to_naught(
    served: Kubectl,
) -> None:
    served.apply(model("tiny", resources={"limits": {"nvidia.com/gpu": 64}}))
    until(served, "tiny", "Ready", "False", "AcceleratorsNeverFit")
    (waiting,) = Pods(served, "tiny").live()
    write(served, waiting, "TriggeredScaleUp", "pod triggered scale-up", "cluster-autoscaler")
    until(served, "tiny", "Ready", "False", "Scheduling", timeout=20)
    progress = read(served, "tiny")["status"]["progress"]
    assert (progress["phase"], progress["message"]) == ("Scheduling", "waiting for the node that it has been promised")
    until(served, "tiny", "Scheduled", "False", "Scheduling")
    write(served, waiting, "NotTriggerScaleUp", "pod did not trigger scale-up", "cluster-autoscaler")
    until(served, "tiny", "Ready", "False", "AcceleratorsNeverFit", timeout=20)


def change(kubectl: Kubectl) -> None:
    """Another revision."""
    patch_spec(kubectl, "tiny", NEXT)


def restart(kubectl: Kubectl) -> None:
    """The same revision once more."""
    kubectl.run("rollout", "restart", "deployment/tiny")


@pytest.mark.control_plane
@pytest.mark.parametrize("begin", [pytest.param(change, marks=pytest.mark.full), restart], ids=["change", "restart"])
def test_an_autoscalers_promise_of_a_node_is_waited_for(
    kubectl: Kubectl, operator: MakeOperator, begin: Callable[[Kubectl], None]
) -> None:
    with machine(kubectl, 1) as node:
        operator_on(operator, kubectl, node)
        pods = serve(kubectl, surgeWaitSeconds=15, surgeWaitMaxSeconds=30)
        begin(kubectl)
        eventually(lambda: len(pods.live()) == 2)
        # Both may be of the same second: the new one is that without a node.
        (waiting,) = (pod for pod in pods.live() if not pod["spec"].get("nodeName"))
        write(kubectl, waiting, "TriggeredScaleUp", "pod triggered scale-up", "cluster-autoscaler")
        made = datetime.fromisoformat(waiting["metadata"]["creationTimestamp"])
        held(pods, 15 + WAIT - (datetime.now(UTC) - made).total_seconds())
        assert strategy(kubectl)["maxSurge"] == 1
        # It came to nothing: the wait for it ends.
        eventually(lambda: strategy(kubectl)["maxSurge"] == 0, 20)
        assert (datetime.now(UTC) - made).total_seconds() >= 30
        finish(kubectl, pods)
