"""Rollouts on a real scheduler: with room and without, they finish by themselves."""

import time
from collections.abc import Callable, Iterator

import pytest

from arriero_api import labels
from arriero_operator.pods import facts
from tests.cluster import ControlPlane
from tests.conftest import MakeOperator
from tests.operator.faults.test_replicas import leads
from tests.operator.reconcile.machines import GPU, machine, operator_on
from tests.operator.reconcile.models import events, patch_spec, read, says, until
from tests.operator.reconcile.models import model as model_of
from tests.operator.reconcile.pods import Pods
from tests.support.audit import AuditLog
from tests.support.eventually import PATIENCE, eventually
from tests.support.kubectl import Kubectl, Object, condition

pytestmark = pytest.mark.control_plane

WAIT = 2
NEXT = {"engine": {"maxModelLen": 512}}


def serve(kubectl: Kubectl, replicas: int = 1, model: Object | None = None, **rollout: object) -> Pods:
    """A ready model whose surge waits for two seconds only."""
    source = model or {"uri": "hf://org/tiny"}
    rolling = {"surgeWaitSeconds": WAIT, **rollout}
    kubectl.apply(model_of("tiny", model=source, replicas=replicas, rollout=rolling))
    pods = Pods(kubectl, "tiny")
    for pod in pods.placed(replicas):
        pods.ready(pod)
    until(kubectl, "tiny", "Ready", "True", "Ready")
    return pods


def play(pods: Pods) -> None:
    """One step of the kubelet: new pods become ready, deleted ones end."""
    for pod in pods.all():
        if "deletionTimestamp" in pod["metadata"]:
            pods.remove(pod)
        elif pod["spec"].get("nodeName") and pod.get("status", {}).get("phase") == "Pending":
            pods.ready(pod)


def finish(kubectl: Kubectl, pods: Pods, each: Callable[[], None] = lambda: None, timeout: float = 60) -> None:
    """Play the kubelet until the changed model is Ready; `each` looks at every step."""

    def done() -> bool:
        play(pods)
        each()
        return says(kubectl, "tiny", "Ready", "True", "Ready") is not None

    eventually(done, timeout)


def revision(pod: Object) -> str:
    """Of a pod."""
    return str(pod["metadata"]["labels"]["arriero.dev/revision"])


def strategy(kubectl: Kubectl) -> Object:
    """The Deployment's rollingUpdate."""
    found: Object = kubectl.json("get", "deployment", "tiny")["spec"]["strategy"]["rollingUpdate"]
    return found


def held(pods: Pods, seconds: float) -> None:
    """All live pods that are placed stay so for a while."""
    before = {pod["metadata"]["uid"] for pod in pods.live() if pod["spec"].get("nodeName")}
    until_then = time.monotonic() + seconds
    while time.monotonic() < until_then:  # that nothing happens cannot be awaited
        assert before <= {pod["metadata"]["uid"] for pod in pods.live()}
        time.sleep(0.2)


@pytest.fixture
def one(kubectl: Kubectl) -> Iterator[str]:
    """A node with one accelerator."""
    with machine(kubectl, 1) as name:
        yield name


@pytest.mark.parametrize("strategy_name", ["Auto", "Replace"])
def test_one_replica_on_the_only_accelerator_is_replaced_by_itself(
    kubectl: Kubectl, operator: MakeOperator, one: str, strategy_name: str
) -> None:
    operator_on(operator, kubectl, one)
    pods = serve(kubectl, strategy=strategy_name, surgeWaitSeconds=6)  # it must be seen to wait, also by slow eyes
    (before,) = pods.live()
    patch_spec(kubectl, "tiny", NEXT)
    if strategy_name == "Auto":
        found = until(kubectl, "tiny", "Ready", "False", "SurgeWaiting")
        assert f"Insufficient {GPU}" in found["message"]
        until(kubectl, "tiny", "Available", "True")
    until(kubectl, "tiny", "UpToDate", "False", "Replacing", timeout=15)
    assert strategy(kubectl) == {"maxSurge": 0, "maxUnavailable": 1}
    finish(kubectl, pods)
    (after,) = pods.live()
    assert revision(after) != revision(before)
    eventually(lambda: strategy(kubectl) == {"maxSurge": 1, "maxUnavailable": 0})
    assert not {"AcceleratorsUnavailable", "Unschedulable"} & {event["reason"] for event in events(kubectl, "tiny")}


def test_with_room_available_never_falls_and_no_old_pod_goes_first(kubectl: Kubectl, operator: MakeOperator) -> None:
    with machine(kubectl, 2) as node:
        operator_on(operator, kubectl, node)
        pods = serve(kubectl)
        patch_spec(kubectl, "tiny", NEXT)

        def available() -> None:
            assert condition(read(kubectl, "tiny"), "Available")["status"] == "True"
            assert strategy(kubectl) == {"maxSurge": 1, "maxUnavailable": 0}

        pods.placed(2)
        finish(kubectl, pods, available)


def test_several_replicas_are_replaced_one_after_the_other(kubectl: Kubectl, operator: MakeOperator) -> None:
    with machine(kubectl, 3) as node:
        operator_on(operator, kubectl, node)
        pods = serve(kubectl, replicas=3)
        (old,) = {revision(pod) for pod in pods.live()}
        patch_spec(kubectl, "tiny", NEXT)

        def two_serve() -> None:
            assert read(kubectl, "tiny")["status"]["readyReplicas"] >= 2

        finish(kubectl, pods, two_serve, timeout=90)
        assert len(pods.live()) == 3
        assert old not in {revision(pod) for pod in pods.live()}


def test_a_pod_that_still_drains_its_accelerator_keeps_the_serving_one(
    kubectl: Kubectl, operator: MakeOperator
) -> None:
    with machine(kubectl, 2) as node:
        operator_on(operator, kubectl, node)
        pods = serve(kubectl, replicas=2)
        kubectl.run("scale", "im/tiny", "--replicas=1")
        eventually(lambda: len(pods.live()) == 1)
        patch_spec(kubectl, "tiny", NEXT)
        eventually(lambda: len(pods.live()) == 2)
        until(kubectl, "tiny", "Ready", "False", "SurgeWaiting")
        held(pods, WAIT + 4)
        assert strategy(kubectl) == {"maxSurge": 1, "maxUnavailable": 0}
        pods.remove_deleted()
        finish(kubectl, pods)


def test_a_revision_that_fits_nowhere_takes_nothing_down(kubectl: Kubectl, operator: MakeOperator, one: str) -> None:
    operator_on(operator, kubectl, one)
    pods = serve(kubectl)
    patch_spec(kubectl, "tiny", {"resources": {"limits": {GPU: 4}}})
    until(kubectl, "tiny", "Ready", "False", "AcceleratorsNeverFit")
    until(kubectl, "tiny", "Available", "True")
    held(pods, WAIT + 3)
    patch_spec(kubectl, "tiny", {"resources": None, **NEXT})
    finish(kubectl, pods)


def nudge(kubectl: Kubectl) -> str:
    """What the operator has asked the ReplicaSet by: for which pods, how many times, when last (in seconds)."""
    return str(kubectl.json("get", "deployment", "tiny")["metadata"]["annotations"].get(labels.NUDGE, ""))


def told_of_the_strategy(kubectl: Kubectl) -> bool:
    """Whether the Deployment's annotation of it has been handed on to the ReplicaSet that is to have pods."""
    found = [one for one in kubectl.items("replicasets", "arriero.dev/model=tiny") if one["spec"]["replicas"]]
    return any(labels.REPLACING in one["metadata"]["annotations"] for one in found)


def test_a_surge_that_a_quota_refuses_is_followed_by_its_pod_within_two_seconds_of_the_old_ones_end(
    kubectl: Kubectl, operator: MakeOperator
) -> None:
    with machine(kubectl, 4) as node:
        operator_on(operator, kubectl, node)
        hard = {"requests.nvidia.com/gpu": "1"}
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "gpus"}, "spec": {"hard": hard}}
        kubectl.apply(quota)
        eventually(lambda: kubectl.json("get", "quota", "gpus").get("status", {}).get("used"))
        # Long enough for the ReplicaSet's own back-off to become long.
        pods = serve(kubectl, surgeWaitSeconds=10)
        patch_spec(kubectl, "tiny", NEXT)
        eventually(lambda: any("deletionTimestamp" in pod["metadata"] for pod in pods.all()), 30)
        # The ReplicaSet tries at once when it changes with the strategy, and then not for longer than ten seconds.
        eventually(lambda: told_of_the_strategy(kubectl))
        held(pods, 1)
        assert not nudge(kubectl), "while the old pod ends there is nothing to try"
        pods.remove_deleted()
        asked = [time.monotonic()]

        def successor() -> list[Object]:
            asked.append(time.monotonic())
            return pods.live()

        eventually(successor, 20)
        # The times of pods are cut to whole seconds: what counts is when it was last seen to be missing.
        assert asked[-2] - asked[0] <= 2 * PATIENCE
        (new,) = pods.placed()
        # Not by chance at a try of the ReplicaSet's own: the operator has asked for one since, and this came of it.
        came = facts.time(new["metadata"]["creationTimestamp"])
        assert came is not None
        _, number, last = nudge(kubectl).split(".")
        first = int(last) - sum(range(int(number)))  # or earlier: each is later than the one before by its number
        assert first <= came.timestamp()
        pods.ready(new)
        finish(kubectl, pods)


def test_a_claim_that_one_node_may_mount_is_left_by_the_old_pod_first(kubectl: Kubectl, operator: MakeOperator) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "models"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "",
            "volumeName": kubectl.namespace,
        },
    }
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": kubectl.namespace},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "hostPath": {"path": "/nowhere"},
            "claimRef": {"namespace": kubectl.namespace, "name": "models"},
        },
    }
    kubectl.apply(volume)
    kubectl.apply(claim)
    with machine(kubectl, 2) as node:
        operator_on(operator, kubectl, node)
        pods = serve(kubectl, model={"uri": "pvc://models/tiny"})
        patch_spec(kubectl, "tiny", NEXT)
        found = until(kubectl, "tiny", "Ready", "False", "Replacing")
        assert "the claim 'models' may be mounted by one pod or node only" in found["message"]
        eventually(lambda: len(pods.all()) == 2 and len(pods.live()) == 1)
        finish(kubectl, pods)
    kubectl.run("delete", "pv", kubectl.namespace, "--wait=false")


def test_a_restart_by_hand_is_no_deadlock_either(kubectl: Kubectl, operator: MakeOperator, one: str) -> None:
    operator_on(operator, kubectl, one)
    pods = serve(kubectl)
    (before,) = pods.live()
    kubectl.run("rollout", "restart", "deployment/tiny")

    def replaced() -> bool:
        play(pods)
        live = pods.live()
        return len(live) == 1 and live[0]["metadata"]["uid"] != before["metadata"]["uid"]

    eventually(replaced, 60)
    finish(kubectl, pods)


def choice(kubectl: Kubectl) -> str:
    """What the Deployment keeps of the decision to replace."""
    found: str = kubectl.json("get", "deployment", "tiny")["metadata"]["annotations"][labels.REPLACING]
    return found


def test_the_choice_outlives_the_operator(
    kubectl: Kubectl, operator: MakeOperator, one: str, control_plane: ControlPlane
) -> None:
    process = operator_on(operator, kubectl, one)
    pods = serve(kubectl)
    patch_spec(kubectl, "tiny", NEXT)
    eventually(lambda: strategy(kubectl)["maxSurge"] == 0, 20)
    eventually(lambda: len(pods.live()) == 1 and len(pods.all()) == 2)
    chosen = choice(kubectl)
    process.kill()
    log = AuditLog.now(control_plane.audit_log)
    successor = operator_on(operator, kubectl, one, "operator-1")
    eventually(lambda: leads(successor), 30)
    # The old pod still drains: whoever had to decide anew would surge first.
    until_then = time.monotonic() + WAIT + 2
    while time.monotonic() < until_then:  # that nothing happens cannot be awaited
        assert (strategy(kubectl)["maxSurge"], choice(kubectl)) == (0, chosen)
        time.sleep(0.2)
    assert [one for one in log.writes(successor.user) if one.resource == "deployments"] == []
    finish(kubectl, pods)


def no_old_pod_is_left(pods: Pods, old: str) -> bool:
    """One step of the kubelet; whether all live pods are of another revision and one of them serves."""
    play(pods)
    live = pods.live()
    serving = [pod for pod in live if pod.get("status", {}).get("phase") == "Running"]
    return old not in {revision(pod) for pod in live} and bool(serving)


@pytest.mark.full
def test_a_change_that_also_asks_for_more_than_there_is_replaces_all_the_same(
    kubectl: Kubectl, operator: MakeOperator, one: str
) -> None:
    operator_on(operator, kubectl, one)
    pods = serve(kubectl)
    (before,) = pods.live()
    patch_spec(kubectl, "tiny", {**NEXT, "replicas": 2})
    eventually(lambda: no_old_pod_is_left(pods, revision(before)), 60)
    until(kubectl, "tiny", "Ready", "False", "AcceleratorsUnavailable", timeout=40)
    until(kubectl, "tiny", "Available", "True")
    until(kubectl, "tiny", "UpToDate", "True")


@pytest.mark.full
def test_a_scale_up_in_the_middle_that_has_no_room_stops_no_rollout(kubectl: Kubectl, operator: MakeOperator) -> None:
    with machine(kubectl, 2) as node:
        operator_on(operator, kubectl, node)
        pods = serve(kubectl, replicas=2)
        (old,) = {revision(pod) for pod in pods.live()}
        patch_spec(kubectl, "tiny", NEXT)

        def half_way() -> bool:
            pods.remove_deleted()
            return any(revision(pod) != old and pod["spec"].get("nodeName") for pod in pods.live())

        eventually(half_way, 40)
        kubectl.run("scale", "im/tiny", "--replicas=3")
        eventually(lambda: len(pods.live()) == 3)
        eventually(lambda: no_old_pod_is_left(pods, old), 90)
