"""A model from apply to delete, on a real API server with fake nodes."""

import time

import pytest

from arriero_api.contract import Registrations, Shutdown
from tests.cluster import ControlPlane
from tests.conftest import MakeOperator
from tests.operator.reconcile.models import events, model, patch_spec, read, until
from tests.operator.reconcile.pods import Pods
from tests.support import used_rights
from tests.support.audit import AuditLog
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object

pytestmark = pytest.mark.control_plane

CHILDREN = ("service", "deployment", "configmap", "controllerrevision", "pod")


def serve(kubectl: Kubectl, name: str = "tiny", **spec: object) -> Pods:
    """Apply a model and bring its pods to Ready."""
    kubectl.apply(model(name, **spec))
    pods = Pods(kubectl, name)
    for pod in pods.placed(int(str(spec.get("replicas", 1)))):
        pods.ready(pod)
    until(kubectl, name, "Ready", "True", "Ready")
    return pods


def children(kubectl: Kubectl, name: str = "tiny") -> dict[str, list[str]]:
    """Names of the model's children, by kind."""
    selector = f"arriero.dev/model={name}"
    return {kind: [obj["metadata"]["name"] for obj in kubectl.items(kind, selector)] for kind in CHILDREN}


def test_an_applied_model_becomes_ready_with_its_pod(served: Kubectl) -> None:
    served.apply(model("tiny"))
    pods = Pods(served, "tiny")
    (pod,) = pods.placed()
    until(served, "tiny", "Ready", "False", "StartingContainer")
    assert read(served, "tiny")["status"]["progress"]["phase"] == "StartingContainer"
    pods.ready(pod)
    until(served, "tiny", "Ready", "True", "Ready")
    status = read(served, "tiny")["status"]
    assert status["url"] == f"http://tiny.{served.namespace}.svc"
    assert status["accelerators"] == "nvidia.com/gpu: 1"
    heads, row = served.run("get", "im", "tiny", "-o", "wide").splitlines()
    assert row[heads.index("PROFILE") :].split()[0] == "nvidia"
    assert [(name["name"], name["state"]) for name in status["names"]] == [("tiny", "Registered")]
    assert "progress" not in status
    for kind, found in children(served).items():
        assert len(found) == 1, kind


def test_scaled_to_zero_is_ready_and_not_available_and_comes_back(served: Kubectl) -> None:
    pods = serve(served)
    served.run("scale", "im/tiny", "--replicas=0")
    until(served, "tiny", "Ready", "True", "ScaledToZero")
    until(served, "tiny", "Available", "False", "ScaledToZero")
    assert read(served, "tiny")["status"]["progress"]["phase"] == "Draining"
    (pod,) = pods.all()
    pods.stopped(pod, Shutdown(3, 1).to_json())
    pods.remove(pod)
    eventually(lambda: "progress" not in read(served, "tiny")["status"])
    (complete,) = eventually(lambda: events(served, "tiny", "ShutdownComplete"))
    assert "3 completed, 1 aborted." in complete["message"]
    assert len(events(served, "tiny", "ShutdownStarted")) == 1
    served.run("scale", "im/tiny", "--replicas=2")
    for pod in pods.placed(2):
        pods.ready(pod)
    until(served, "tiny", "Ready", "True", "Ready")


@pytest.mark.parametrize("stopped", [False, True], ids=["operator up", "operator down"])
def test_a_deleted_model_leaves_no_child(kubectl: Kubectl, operator: MakeOperator, stopped: bool) -> None:
    process = operator()
    pods = serve(kubectl)
    if stopped:
        process.stop()
    kubectl.run("delete", "im", "tiny", "--timeout=10s")
    # A garbage collector that has just started learns of new kinds every 30 seconds.
    eventually(lambda: all("deletionTimestamp" in pod["metadata"] for pod in pods.all()), 45)
    if not stopped:
        eventually(lambda: events(kubectl, "tiny", "ShutdownStarted"))
    pods.stopped(pods.all()[0], Shutdown(12, 0).to_json())
    pods.remove_deleted()
    eventually(lambda: not any(children(kubectl).values()), 45)
    if not stopped:
        (complete,) = eventually(lambda: events(kubectl, "tiny", "ShutdownComplete"))
        assert "12 completed, 0 aborted." in complete["message"]


@pytest.mark.parametrize("kind", ["service", "deployment", "configmap"])
def test_a_child_edited_or_deleted_by_hand_is_put_right_within_five_seconds(served: Kubectl, kind: str) -> None:
    serve(served)
    (name,) = children(served)[kind]
    wanted = served.json("get", kind, name)

    def said(obj: Object) -> object:
        """Of a file its names: each change of it has another number."""
        if kind != "configmap":
            return obj["spec"]
        text = obj["data"]["registrations.json"]
        return text != "{}" and Registrations.from_json(text).names

    edits: dict[str, Object] = {
        "service": {"spec": {"selector": {"arriero.dev/model": "other"}}},
        "deployment": {"spec": {"replicas": 3, "template": {"spec": {"terminationGracePeriodSeconds": 1}}}},
        "configmap": {"data": {"registrations.json": "{}"}},
    }
    served.patch(kind, name, edits[kind])
    eventually(lambda: said(served.json("get", kind, name)) == said(wanted), 5)
    served.patch(kind, name, {"metadata": {"labels": {"app.kubernetes.io/managed-by": None}}})
    eventually(lambda: served.json("get", kind, name)["metadata"]["labels"] == wanted["metadata"]["labels"], 5)
    served.run("delete", kind, name, "--cascade=orphan")
    eventually(lambda: served.exists(kind, name), 5)
    assert served.json("get", kind, name)["metadata"]["ownerReferences"] == wanted["metadata"]["ownerReferences"]


def test_a_foreign_service_is_left_alone_and_named(served: Kubectl) -> None:
    foreign = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "tiny"},
        "spec": {"ports": [{"port": 5432}], "selector": {"app": "database"}},
    }
    served.apply(foreign)
    before = served.json("get", "service", "tiny")
    served.apply(model("tiny", cache={"claimTemplate": {"size": "1Gi"}}))
    found = until(served, "tiny", "Accepted", "False", "ChildNameTaken")
    assert "Service 'tiny'" in found["message"]
    assert "spec.service.name" in found["message"]
    until(served, "tiny", "Ready", "False", "ChildNameTaken")
    until(served, "tiny", "Stalled", "True", "ChildNameTaken")
    assert served.json("get", "service", "tiny") == before
    assert not served.items(f"{','.join(CHILDREN)},pvc", "arriero.dev/model=tiny"), "nothing is half made"
    served.run("delete", "service", "tiny")
    until(served, "tiny", "Accepted", "True", timeout=15)


def test_orphaned_children_are_adopted(served: Kubectl) -> None:
    pods = serve(served)
    (before,) = pods.live()
    served.run("delete", "im", "tiny", "--cascade=orphan")
    eventually(lambda: not served.json("get", "deployment", "tiny")["metadata"].get("ownerReferences"))
    served.apply(model("tiny"))
    until(served, "tiny", "Ready", "True", "Ready")
    (after,) = pods.live()
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    uid = read(served, "tiny")["metadata"]["uid"]
    assert [ref["uid"] for ref in served.json("get", "deployment", "tiny")["metadata"]["ownerReferences"]] == [uid]


def test_a_failure_is_told_once_and_the_mended_model_becomes_ready(kubectl: Kubectl, operator: MakeOperator) -> None:
    process = operator()
    kubectl.apply(model("tiny", model={"uri": "hf://org/tinyy"}))
    pods = Pods(kubectl, "tiny")
    (pod,) = pods.placed()
    message = (
        '{"schemaVersion": 1, "reason": "ModelNotFound", "message": "the hub knows no repository org/tinyy", '
        '"remedy": "Correct spec.model.uri."}'
    )
    end = {"exitCode": 1, "reason": "Error", "message": message}
    pods.waiting(pod, "CrashLoopBackOff", "back-off", end)
    found = until(kubectl, "tiny", "Ready", "False", "ModelNotFound")
    assert found["message"] == "The hub knows no repository org/tinyy. Correct spec.model.uri."
    until(kubectl, "tiny", "Stalled", "True", "ModelNotFound")
    eventually(lambda: events(kubectl, "tiny", "ModelNotFound"))
    process.stop()
    operator(identity="operator-1")
    pods.waiting(pod, "CrashLoopBackOff", "back-off 20s", end)
    patch_spec(kubectl, "tiny", {"model": {"uri": "hf://org/tiny"}})
    # The failed pod holds what its successor needs: it goes at once.
    new = eventually(lambda: [one for one in pods.placed(1) if one["metadata"]["uid"] != pod["metadata"]["uid"]])[0]
    until(kubectl, "tiny", "Ready", "False", "StartingContainer")
    pods.ready(new)
    pods.remove_deleted()
    until(kubectl, "tiny", "Ready", "True", "Ready")
    assert len(events(kubectl, "tiny", "ModelNotFound")) == 1
    assert len(events(kubectl, "tiny", "RolloutStarted")) == 1
    eventually(lambda: len(children(kubectl)["controllerrevision"]) == 1)
    eventually(lambda: len(children(kubectl)["configmap"]) == 1)


def test_two_models_never_share_a_name(served: Kubectl) -> None:
    serve(served, "first", model={"uri": "hf://org/tiny", "aliases": ["chat"]})
    served.apply(model("second", model={"uri": "hf://org/tiny", "aliases": ["chat"]}))
    pods = Pods(served, "second")
    (pod,) = pods.placed()
    pods.ready(pod)
    found = until(served, "second", "Ready", "False", "NameConflict")
    assert "'chat' is held by the model 'first'" in found["message"]
    assert "spec.model.aliases" in found["message"]
    until(served, "second", "Available", "True")
    until(served, "first", "Ready", "True")
    served.run("delete", "im", "first")
    until(served, "second", "NamesRegistered", "False", "Registering", timeout=15)


def test_an_older_model_takes_no_name_from_a_younger_one_by_an_edit(served: Kubectl) -> None:
    serve(served, "older")
    serve(served, "younger", model={"uri": "hf://org/tiny", "aliases": ["chat"]})
    patch_spec(served, "older", {"model": {"uri": "hf://org/tiny", "aliases": ["chat"]}})
    until(served, "older", "Ready", "False", "NameConflict")
    until(served, "older", "Available", "True")
    until(served, "younger", "Ready", "True", "Ready")
    (file,) = served.items("configmap", "arriero.dev/model=older")
    assert [one.name for one in Registrations.from_json(file["data"]["registrations.json"]).names] == ["older"]


def test_nothing_is_written_at_rest(kubectl: Kubectl, operator: MakeOperator, control_plane: ControlPlane) -> None:
    process = operator()
    serve(kubectl)
    log = AuditLog.now(control_plane.audit_log)
    time.sleep(12)  # the absence of writes cannot be awaited
    assert [one for one in log.writes(process.user) if one.resource != "leases"] == []


def test_a_deleted_namespace_goes_with_all_its_models(kubectl: Kubectl, operator: MakeOperator) -> None:
    operator()
    pods = serve(kubectl)
    used_rights.bar(kubectl.namespace)  # the operator's own Role goes too
    kubectl.run("delete", "namespace", kubectl.namespace, "--wait=false")

    def gone() -> bool:
        pods.remove_deleted()
        return not kubectl.exists("namespace", kubectl.namespace)

    eventually(gone, 60)


def test_what_the_api_server_refuses_is_told_in_its_words(served: Kubectl) -> None:
    served.apply(model("tiny", resources={"limits": {"memory": "4Gi"}, "requests": {"memory": "8Gi"}}))
    found = until(served, "tiny", "Accepted", "False", "ChildRefused")
    assert "must be less than or equal to memory limit" in found["message"]
    patch_spec(served, "tiny", {"resources": None})
    until(served, "tiny", "Accepted", "True")


def test_an_exhausted_quota_is_told(kubectl: Kubectl, operator: MakeOperator) -> None:
    operator()
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gpus"},
        "spec": {"hard": {"requests.nvidia.com/gpu": "0"}},
    }
    kubectl.apply(quota)
    kubectl.apply(model("tiny"))
    found = until(kubectl, "tiny", "Ready", "False", "QuotaExceeded", timeout=20)
    assert "exceeded quota: gpus" in found["message"]


def test_a_pod_that_fits_no_node_is_told(served: Kubectl) -> None:
    served.apply(model("tiny", resources={"limits": {"nvidia.com/gpu": 64}}))
    found = until(served, "tiny", "Ready", "False", "AcceleratorsNeverFit")
    assert "Insufficient nvidia.com/gpu" in found["message"]
    until(served, "tiny", "Scheduled", "False", "AcceleratorsNeverFit")


def test_a_ready_model_whose_pod_crashes_is_not_ready_and_recovers(served: Kubectl) -> None:
    pods = serve(served)
    (pod,) = pods.live()
    pods.waiting(pod, "CrashLoopBackOff", "back-off", {"exitCode": 137, "reason": "OOMKilled"})
    until(served, "tiny", "Ready", "False", "OOMKilled", timeout=5)
    until(served, "tiny", "Available", "False", "NoReadyReplica", timeout=5)
    eventually(lambda: len(events(served, "tiny", "OOMKilled")) == 1)
    pods.ready(pod)
    until(served, "tiny", "Ready", "True", "Ready", timeout=5)


def test_ready_falls_within_five_seconds_also_where_nothing_tells_why_and_returns(served: Kubectl) -> None:
    pods = serve(served)
    (pod,) = pods.live()
    pods.run(pod)
    until(served, "tiny", "Ready", "False", timeout=5)
    until(served, "tiny", "Available", "False", "NoReadyReplica", timeout=5)
    pods.ready(pod)
    until(served, "tiny", "Ready", "True", "Ready", timeout=5)


@pytest.mark.parametrize("name", ["7b-chat", "a.b.c", f"llama-3.1-{'x' * 70}-eu"])
def test_every_legal_name_works(served: Kubectl, name: str) -> None:
    served.apply(model(name))
    eventually(lambda: read(served, name).get("status", {}).get("selector"))
    stem = read(served, name)["status"]["selector"].removeprefix("arriero.dev/model=")
    (pod,) = Pods(served, stem).placed()
    Pods(served, stem).ready(pod)
    until(served, name, "Ready", "True", "Ready")


def test_an_operator_that_is_killed_again_and_again_ends_with_one_of_each(
    kubectl: Kubectl, operator: MakeOperator
) -> None:
    process = operator(ready=False)
    kubectl.apply(model("tiny"))
    for _ in range(4):
        time.sleep(0.7)  # somewhere in its start
        process.kill()
        process.start()
    process.wait_ready()
    (pod,) = Pods(kubectl, "tiny").placed()
    Pods(kubectl, "tiny").ready(pod)
    until(kubectl, "tiny", "Ready", "True", "Ready", timeout=20)
    assert {kind: len(found) for kind, found in children(kubectl).items()} == dict.fromkeys(CHILDREN, 1)
