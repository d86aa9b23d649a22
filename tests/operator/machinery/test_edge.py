"""The watch in the whole process: events reach the queue, and Kopf writes nothing."""

from typing import Any

import pytest

from arriero_api import labels
from arriero_operator.cache.store import Cache
from arriero_operator.kube.protocol import DEPLOYMENTS, MODELS, SERVICES, Kind
from arriero_operator.watching.intake import Intake, take
from arriero_operator.watching.news import Expected
from arriero_operator.work.keys import Key
from tests.cluster import ControlPlane
from tests.conftest import MakeOperator
from tests.operator.machinery.objects import make
from tests.support.audit import AuditLog
from tests.support.eventually import eventually
from tests.support.idle_operator import SAYS
from tests.support.kubectl import Kubectl, Object
from tests.support.operator import OperatorProcess

IDLE = ("-m", "tests.support.idle_operator")


def model(name: str) -> Object:
    return {
        "apiVersion": labels.API_VERSION,
        "kind": labels.KIND,
        "metadata": {"name": name},
        "spec": {"model": {"uri": "hf://org/name"}},
    }


def config_map(name: str, owner: str) -> Object:
    metadata = {
        "name": name,
        "labels": {labels.MANAGED_BY: labels.MANAGED_BY_VALUE, labels.MODEL: owner},
        "annotations": {labels.OWNER: owner},
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}}


def reconciles(operator: OperatorProcess, name: str) -> int:
    key = f"{operator.kubectl.namespace}/{name}"
    return sum(line["message"] == SAYS and line["key"] == key for line in operator.lines())


def await_more(operator: OperatorProcess, name: str, than: int, timeout: float = 5.0) -> None:
    eventually(lambda: reconciles(operator, name) > than, timeout)


def taken(kind: Kind, happened: str | None, obj: Object, cache: Cache) -> Key | None:
    """As `take` of an event that nothing is expected of."""
    return take(kind, happened, obj, cache, Expected())


def test_the_key_of_an_event_is_the_models() -> None:
    cache = Cache()
    child = make(DEPLOYMENTS, "child", 5)
    child["metadata"]["annotations"] = {labels.OWNER: "m"}
    owned = make(DEPLOYMENTS, "owned", 6)
    owned["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x", "controller": False},
        {"apiVersion": labels.API_VERSION, "kind": labels.KIND, "name": "n", "controller": True},
    ]
    assert taken(MODELS, None, make(MODELS, "m", 3), cache) == ("team", "m")
    assert taken(DEPLOYMENTS, "ADDED", child, cache) == ("team", "m")
    assert taken(DEPLOYMENTS, "ADDED", owned, cache) == ("team", "n")
    assert taken(DEPLOYMENTS, "ADDED", make(DEPLOYMENTS, "stray", 7), cache) is None


def test_an_event_that_is_out_of_date_wakes_nobody() -> None:
    cache = Cache()
    assert taken(MODELS, "MODIFIED", make(MODELS, "m", 9), cache)
    assert taken(MODELS, "MODIFIED", make(MODELS, "m", 8), cache) is None
    assert taken(MODELS, "DELETED", make(MODELS, "m", 10), cache) == ("team", "m")
    assert taken(MODELS, "MODIFIED", make(MODELS, "m", 9), cache) is None


def _deployment(version: int, *, paused: bool = False, **status: Any) -> Object:
    found = make(DEPLOYMENTS, "m", version, spec={"paused": paused}, status=status)
    found["metadata"]["annotations"] = {labels.OWNER: "m"}
    return found


@pytest.mark.parametrize(
    "changed",
    [
        _deployment(6, replicas=2),
        _deployment(6, updatedReplicas=1),
        _deployment(6, terminatingReplicas=1),
        _deployment(6, observedGeneration=1),
        _deployment(6, conditions=[{"type": "ReplicaFailure", "status": "True"}]),
        _deployment(6, paused=True),
    ],
    ids=["replicas", "updated", "terminating", "generation", "refused", "spec"],
)
def test_an_event_wakes_its_model_where_a_field_has_changed_that_is_read(changed: Object) -> None:
    cache = Cache()
    taken(DEPLOYMENTS, "ADDED", _deployment(5), cache)
    assert taken(DEPLOYMENTS, "MODIFIED", changed, cache) == ("team", "m")


def test_a_deployment_that_counts_what_nobody_reads_wakes_nobody() -> None:
    cache = Cache()
    taken(DEPLOYMENTS, "ADDED", _deployment(5, replicas=1), cache)
    counted = _deployment(6, replicas=1, availableReplicas=1, conditions=[{"type": "Available", "status": "True"}])
    assert taken(DEPLOYMENTS, "MODIFIED", counted, cache) is None
    kept = cache.get(DEPLOYMENTS, "team", "m")
    assert kept is not None
    assert kept["metadata"]["resourceVersion"] == "6"


def test_an_event_of_a_version_that_an_answer_told_of_wakes_its_model() -> None:
    cache = Cache()
    cache.put(DEPLOYMENTS, _deployment(5))
    assert taken(DEPLOYMENTS, "MODIFIED", _deployment(5), cache) == ("team", "m")


def test_what_a_list_tells_may_be_overtaken_by_what_a_watch_tells() -> None:
    told: list[bool] = []
    intake = Intake(
        Cache(), Expected(), lambda key, routine=False: told.append(routine), lambda _: None, lambda _: None
    )
    child = make(SERVICES, "m", 3)
    child["metadata"]["annotations"] = {labels.OWNER: "m"}
    for happened, version in ((None, 3), ("ADDED", 4), ("MODIFIED", 5), ("DELETED", 6)):
        child = child | {"metadata": child["metadata"] | {"resourceVersion": str(version)}}
        intake(SERVICES, happened, child)
    assert told == [True, False, False, False]


@pytest.mark.control_plane
def test_models_that_are_there_at_the_start_are_reconciled(operator: MakeOperator, kubectl: Kubectl) -> None:
    kubectl.apply(model("early"))
    running = operator(program=IDLE)
    await_more(running, "early", 0)
    (said,) = (line for line in running.lines() if line["message"] == "Rights and CRD are as needed")
    assert said["namespaces"] == kubectl.namespace
    assert "Secrets are not looked up (reads.secrets)" in said["left_out"]


@pytest.mark.control_plane
def test_a_change_of_a_model_or_of_its_child_is_reconciled_and_kopf_writes_nothing(
    operator: MakeOperator, kubectl: Kubectl, control_plane: ControlPlane
) -> None:
    running = operator(program=IDLE)
    log = AuditLog.now(control_plane.audit_log)
    kubectl.apply(model("m"))
    await_more(running, "m", 0)

    for change in (
        lambda: kubectl.patch("inferencemodel", "m", {"spec": {"replicas": 2}}),
        lambda: kubectl.apply(config_map("c", "m")),
        lambda: kubectl.patch("configmap", "c", {"data": {"a": "c"}}),
        lambda: kubectl.run("label", "configmap", "c", f"{labels.MANAGED_BY}-"),
        lambda: kubectl.run("label", "configmap", "c", f"{labels.MANAGED_BY}={labels.MANAGED_BY_VALUE}"),
        lambda: kubectl.run("delete", "configmap", "c"),
        lambda: kubectl.run("delete", "inferencemodel", "m", "--timeout=10s"),
    ):
        before = reconciles(running, "m")
        change()
        await_more(running, "m", before)

    writes = [w for w in log.writes(running.user) if w.resource != "leases"]
    assert writes == []
    assert running.stop() == 0


@pytest.mark.control_plane
def test_objects_without_our_label_are_not_seen(operator: MakeOperator, kubectl: Kubectl) -> None:
    running = operator(program=IDLE)
    foreign = config_map("foreign", "m")
    del foreign["metadata"]["labels"]
    kubectl.apply(foreign)
    kubectl.apply(model("later"))
    await_more(running, "later", 0)
    assert reconciles(running, "m") == 0


@pytest.mark.control_plane
def test_a_deletion_leaves_no_finalizer_and_needs_no_operator(operator: MakeOperator, kubectl: Kubectl) -> None:
    running = operator(program=IDLE)
    kubectl.apply(model("m"))
    await_more(running, "m", 0)
    seen = kubectl.json("get", "inferencemodel", "m")["metadata"]
    assert "finalizers" not in seen
    assert not [key for key in seen.get("annotations", {}) if "kopf" in key]
    running.stop()
    kubectl.run("delete", "inferencemodel", "m", "--timeout=10s")
