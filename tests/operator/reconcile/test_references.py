"""What a spec refers to: looked for before any pod, and followed afterwards."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from arriero_api import labels
from tests.cluster import ControlPlane
from tests.operator.reconcile.models import model, patch_spec, read, until
from tests.operator.reconcile.pods import Pods
from tests.support.audit import AuditLog
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object
from tests.support.operator import OperatorProcess, operator_kubeconfig, operator_settings

pytestmark = pytest.mark.control_plane

Start = Callable[..., OperatorProcess]
READS = {"secrets": True, "classes": True}


@pytest.fixture
def start(kubectl: Kubectl, tmp_path: Path) -> Iterator[Start]:
    """Starts an operator that may look everywhere; keywords replace settings."""
    kubeconfig = operator_kubeconfig(kubectl, tmp_path, reads=READS)
    running: list[OperatorProcess] = []

    def begin(**settings: Any) -> OperatorProcess:
        wanted = operator_settings(kubectl.namespace, reads=READS, **settings)
        process = OperatorProcess(kubectl, tmp_path, wanted, kubeconfig, f"operator-{len(running)}")
        running.append(process)
        process.start()
        process.wait_ready()
        return process

    yield begin
    for process in running:
        process.stop()
    for kind in ("clusterrolebinding", "clusterrole"):
        kubectl.run("delete", kind, f"arriero-system-arriero-classes-{kubectl.namespace}", "--ignore-not-found")


def config_map(name: str, **data: str) -> Object:
    """A ConfigMap of somebody."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def classes(name: str) -> list[Object]:
    """One of each kind of class that a pod may name."""
    metadata = {"name": name}
    return [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": metadata, "value": 1},
        {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": metadata, "handler": "nowhere"},
        {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata, "provisioner": "no/where"},
    ]


def of_classes(name: str) -> Object:
    """spec.podTemplate that names all of them."""
    size = {"requests": {"storage": "1Gi"}}
    wanted = {"accessModes": ["ReadWriteOnce"], "storageClassName": name, "resources": size}
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": wanted}}}
    return {"spec": {"priorityClassName": name, "runtimeClassName": name, "volumes": [volume]}}


def claim(name: str, mode: str) -> Object:
    """A claim that no class provisions."""
    spec = {"accessModes": [mode], "storageClassName": "none", "resources": {"requests": {"storage": "1Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def from_map(name: str, key: str = "level") -> Object:
    """spec.engine with a variable from a ConfigMap."""
    return {"env": [{"name": "LEVEL", "valueFrom": {"configMapKeyRef": {"name": name, "key": key}}}]}


def ready(kubectl: Kubectl, name: str = "tiny") -> Object:
    """The model's only pod, after the model is Ready."""
    pods = Pods(kubectl, name)
    (pod,) = pods.placed()
    pods.ready(pod)
    until(kubectl, name, "Ready", "True", "Ready")
    return pod


def successor(kubectl: Kubectl, old: Object, name: str = "tiny") -> Object:
    """The pod that replaces the old one, once it is Ready and alone."""
    pods = Pods(kubectl, name)

    def placed() -> Object | None:
        uid = old["metadata"]["uid"]
        found = [one for one in pods.live() if one["metadata"]["uid"] != uid and one["spec"].get("nodeName")]
        return found[0] if found else None

    new = eventually(placed, 20)
    assert new is not None
    pods.ready(new)
    alone(pods)
    until(kubectl, name, "UpToDate", "True", timeout=20)
    return new


def alone(pods: Pods) -> None:
    """Deleted pods end, until one is left."""

    def one() -> bool:
        pods.remove_deleted()
        return len(pods.live()) == 1

    eventually(one, 20)


def test_what_is_missing_is_refused_before_any_pod_and_the_refusal_clears_by_itself(
    kubectl: Kubectl, start: Start
) -> None:
    start()
    env = from_map("tuning")["env"]
    env.append({"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}})
    uri, name = {"uri": "pvc://weights/llama"}, f"of-{kubectl.namespace}"
    kubectl.apply(model("tiny", model=uri, engine={"env": env}, podTemplate=of_classes(name)))
    found = until(kubectl, "tiny", "Accepted", "False", "ReferenceMissing")
    for words in ("ConfigMap 'tuning', key 'level'", "Secret 'hub', key 'token'", "PersistentVolumeClaim 'weights'"):
        assert words in found["message"]
    for kind in ("PriorityClass", "RuntimeClass", "StorageClass"):
        assert f"{kind} {name!r}" in found["message"]
    until(kubectl, "tiny", "Stalled", "True", "ReferenceMissing")
    assert not kubectl.items("deployments,controllerrevisions", "arriero.dev/model=tiny")
    kubectl.apply(config_map("tuning", other="1"))
    kubectl.run("create", "secret", "generic", "hub", "--from-literal=token=a")
    for one in classes(name):
        kubectl.apply(one)
    kubectl.apply(claim("weights", "ReadOnlyMany"))

    field = "spec.engine.env[LEVEL].valueFrom.configMapKeyRef"

    def only_the_key() -> bool:
        message = until(kubectl, "tiny", "Accepted", "False", "ReferenceMissing")["message"]
        return bool(message.startswith(f"Not there: ConfigMap 'tuning', key 'level' ({field}). "))

    eventually(only_the_key, 20)
    # Whatever a user writes there, only a model's label makes it a child.
    kubectl.run("label", "configmap", "tuning", f"{labels.MANAGED_BY}={labels.MANAGED_BY_VALUE}")
    kubectl.apply(config_map("tuning", level="1"))
    until(kubectl, "tiny", "Accepted", "True", timeout=20)
    kubectl.run("delete", "priorityclass,runtimeclass,storageclass", name)


def test_the_class_of_a_claim_is_looked_for_before_the_claim_is_made(kubectl: Kubectl, start: Start) -> None:
    start()
    name = f"{kubectl.namespace}-cache"
    cache = {"claimTemplate": {"size": "1Gi", "storageClassName": name}}
    kubectl.apply(model("tiny", cache=cache))
    assert f"StorageClass {name!r}" in until(kubectl, "tiny", "Accepted", "False", "ReferenceMissing")["message"]
    assert not kubectl.items("pvc", "arriero.dev/model=tiny")
    made = next(one for one in classes(name) if one["kind"] == "StorageClass")
    kubectl.apply(made)
    until(kubectl, "tiny", "Accepted", "True", timeout=20)
    eventually(lambda: kubectl.exists("pvc", "tiny-cache"))
    # Once there is the claim, its class is nobody's concern any more.
    kubectl.run("delete", "storageclass", name)
    patch_spec(kubectl, "tiny", {"engine": {"maxModelLen": 512}})
    eventually(lambda: read(kubectl, "tiny")["status"].get("observedGeneration") == 2)
    assert until(kubectl, "tiny", "Accepted", "True")


def test_secrets_of_sources_are_looked_for_with_a_key_of_use_and_their_end_is_told(
    kubectl: Kubectl, start: Start
) -> None:
    start()
    adapters = [{"name": "fr", "uri": "s3://bucket/fr", "credentials": {"secretName": "store"}}]
    hub = {"uri": "hf://org/tiny", "credentials": {"secretName": "hub"}}
    kubectl.apply(model("tiny", model=hub, lora={"adapters": adapters}))
    found = until(kubectl, "tiny", "Accepted", "False", "ReferenceMissing")
    told = (
        "Secret 'hub' with one of the keys token, endpoint, ca.crt, proxy or noProxy (spec.model.credentials.secretName"
    )
    assert told in found["message"]
    told = "Secret 'store' with one of the keys accessKeyId with secretAccessKey, sessionToken with accessKeyId, region"
    assert told in found["message"]
    kubectl.run("create", "secret", "generic", "hub", "--from-literal=HF_TOKEN=a")
    kubectl.run("create", "secret", "generic", "store", "--from-literal=password=a")

    def only_the_store() -> bool:
        message = until(kubectl, "tiny", "Accepted", "False", "ReferenceMissing")["message"]
        return bool(message.startswith("Not there: Secret 'store' with one of"))

    eventually(only_the_store, 20)
    kubectl.patch("secret", "store", {"stringData": {"accessKeyId": "a"}})
    pod = ready_but_for_adapters(kubectl)
    kubectl.run("delete", "secret", "hub")
    found = until(kubectl, "tiny", "UpToDate", "False", "ReferenceDeleted")
    assert "Secret 'hub'" in found["message"]
    assert [one["metadata"]["uid"] for one in Pods(kubectl, "tiny").live()] == [pod["metadata"]["uid"]]


def ready_but_for_adapters(kubectl: Kubectl) -> Object:
    """The model's only pod, after it is available: no runtime answers here for adapters."""
    pods = Pods(kubectl, "tiny")
    (pod,) = eventually(lambda: pods.placed(1), 20)
    pods.ready(pod)
    until(kubectl, "tiny", "Available", "True")
    return pod


def test_a_claim_of_one_node_does_not_fit_two_replicas(kubectl: Kubectl, start: Start) -> None:
    start()
    kubectl.apply(claim("weights", "ReadWriteOnce"))
    kubectl.apply(model("tiny", model={"uri": "pvc://weights/llama"}))
    until(kubectl, "tiny", "Accepted", "True")
    kubectl.run("scale", "im/tiny", "--replicas=2")
    found = until(kubectl, "tiny", "Accepted", "False", "ClaimNotShareable")
    assert "spec.replicas is 2" in found["message"]
    assert "'weights' (spec.model.uri) may be mounted by one node only (ReadWriteOnce)" in found["message"]
    assert kubectl.json("get", "deployment", "tiny")["spec"]["replicas"] == 1
    kubectl.run("scale", "im/tiny", "--replicas=1")
    until(kubectl, "tiny", "Accepted", "True")


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_changed_content_replaces_the_pods_once_and_changed_metadata_does_nothing(
    kubectl: Kubectl, start: Start, control_plane: ControlPlane, kind: str
) -> None:
    process = start()
    ref = {"ConfigMap": "configMapKeyRef", "Secret": "secretKeyRef"}[kind]
    data = {"ConfigMap": "data", "Secret": "stringData"}[kind]
    tuning: Object = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "tuning"}, data: {"level": "1", "x": "1"}}
    kubectl.apply(tuning)
    env = [{"name": "LEVEL", "valueFrom": {ref: {"name": "tuning", "key": "level"}}}]
    kubectl.apply(model("tiny", engine={"env": env}))
    old = ready(kubectl)
    log = AuditLog.now(control_plane.audit_log)
    kubectl.run("label", kind, "tuning", "team=nlp")
    kubectl.patch(kind, "tuning", {data: {"x": "2"}})
    eventually(lambda: len([one for one in log.requests() if _reads(one, process.user, "tuning")]) >= 1)
    time.sleep(2)  # that nothing is written cannot be awaited
    assert [one for one in log.writes(process.user) if one.resource != "leases"] == []
    kubectl.patch(kind, "tuning", {data: {"level": "2"}})
    new = successor(kubectl, old)
    assert new["metadata"]["labels"]["arriero.dev/revision"] != old["metadata"]["labels"]["arriero.dev/revision"]
    kubectl.run("delete", kind, "tuning")
    found = until(kubectl, "tiny", "UpToDate", "False", "ReferenceDeleted")
    assert f"{kind} 'tuning'" in found["message"]
    until(kubectl, "tiny", "Ready", "True", "Ready")
    until(kubectl, "tiny", "Accepted", "True")
    kubectl.apply(tuning | {data: {"level": "2"}})
    until(kubectl, "tiny", "UpToDate", "True")
    assert [one["metadata"]["uid"] for one in Pods(kubectl, "tiny").live()] == [new["metadata"]["uid"]]


def _reads(one: Any, user: str, name: str) -> bool:
    return bool(one.user == user and one.verb == "get" and one.name == name)


@pytest.mark.full
def test_where_the_chart_says_so_changes_are_only_told_until_somebody_asks_for_them(
    kubectl: Kubectl, start: Start
) -> None:
    changes = {"references": "Report", "images": "Report"}
    process = start(changes=changes)
    kubectl.apply(config_map("tuning", level="1"))
    kubectl.apply(model("tiny", engine=from_map("tuning")))
    old = ready(kubectl)
    kubectl.apply(config_map("tuning", level="2"))
    found = until(kubectl, "tiny", "UpToDate", "False", "InputsChanged")
    assert "what the spec refers to has changed" in found["message"].lower()
    until(kubectl, "tiny", "Ready", "True", "Ready")
    kubectl.run("annotate", "im", "tiny", "arriero.dev/retry=1")
    new = successor(kubectl, old)
    process.stop()
    profiles = operator_settings(kubectl.namespace)["profiles"]
    profiles["nvidia"]["sharedMemory"] = "3Gi"
    start(changes=changes, profiles=profiles)
    found = until(kubectl, "tiny", "UpToDate", "False", "InputsChanged", timeout=20)
    assert "the profile or the hub's endpoint has changed" in found["message"].lower()
    assert [one["metadata"]["uid"] for one in Pods(kubectl, "tiny").live()] == [new["metadata"]["uid"]]
    # A change of the spec itself takes all of it along.
    patch_spec(kubectl, "tiny", {"engine": {"maxModelLen": 512}})
    successor(kubectl, new)


@pytest.mark.full
def test_another_operator_that_starts_anew_replaces_nothing_and_reads_nothing_at_rest(
    kubectl: Kubectl, start: Start, control_plane: ControlPlane
) -> None:
    process = start()
    kubectl.apply(config_map("tuning", level="1"))
    kubectl.apply(model("tiny", engine=from_map("tuning")))
    old = ready(kubectl)
    process.stop()
    log = AuditLog.now(control_plane.audit_log)
    process = start()
    eventually(lambda: any(_reads(one, process.user, "tuning") for one in log.requests()), 20)
    rest = AuditLog.now(control_plane.audit_log)
    time.sleep(6)  # the absence of requests cannot be awaited
    mine = [one for one in rest.requests() if one.user == process.user and one.resource != "leases"]
    assert [one for one in mine if one.verb != "watch"] == []
    assert len(kubectl.items("controllerrevisions", "arriero.dev/model=tiny")) == 1
    assert [one["metadata"]["uid"] for one in Pods(kubectl, "tiny").live()] == [old["metadata"]["uid"]]
