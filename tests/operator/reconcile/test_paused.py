"""A paused model: only its status is written."""

import pytest

from tests.cluster import ControlPlane
from tests.conftest import MakeOperator
from tests.operator.reconcile.models import events, model, patch_spec, read, until
from tests.operator.reconcile.pods import Pods
from tests.support.audit import AuditLog
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object

pytestmark = pytest.mark.control_plane


def test_while_paused_only_the_status_is_written_and_afterwards_all_is_made_up_for(
    kubectl: Kubectl, operator: MakeOperator, control_plane: ControlPlane
) -> None:
    process = operator()
    kubectl.apply(model("tiny"))
    pods = Pods(kubectl, "tiny")
    (pod,) = pods.placed()
    pods.ready(pod)
    until(kubectl, "tiny", "Ready", "True", "Ready")
    patch_spec(kubectl, "tiny", {"paused": True})
    found = until(kubectl, "tiny", "Ready", "True", "Paused")
    assert "spec.paused" in found["message"]
    log = AuditLog.now(control_plane.audit_log)
    changes = {"replicas": 2, "engine": {"maxModelLen": 512}, "model": {"uri": "hf://org/tiny", "aliases": ["chat"]}}
    patch_spec(kubectl, "tiny", changes)
    until(kubectl, "tiny", "Ready", "False", "Paused")
    until(kubectl, "tiny", "UpToDate", "False", "Paused")
    until(kubectl, "tiny", "Stalled", "True", "Paused")
    until(kubectl, "tiny", "Available", "True")
    kubectl.run("delete", "service", "tiny")
    kubectl.run("label", "im", "tiny", "touched=yes")
    eventually(
        lambda: read(kubectl, "tiny")["status"]["model"]["wanted"] != pod["metadata"]["labels"]["arriero.dev/revision"]
    )
    written = {(one.resource, one.subresource) for one in log.writes(process.user) if one.resource != "leases"}
    assert written <= {("inferencemodels", "status")}
    assert not kubectl.exists("service", "tiny")
    patch_spec(kubectl, "tiny", {"paused": False})
    eventually(lambda: kubectl.exists("service", "tiny"))
    eventually(lambda: len(pods.live()) == 3)
    eventually(lambda: len(events(kubectl, "tiny", "RolloutStarted")) == 1)


def test_a_model_that_is_made_paused_has_no_children(kubectl: Kubectl, operator: MakeOperator) -> None:
    operator()
    kubectl.apply(model("tiny", paused=True))
    until(kubectl, "tiny", "Ready", "False", "Paused")
    until(kubectl, "tiny", "Available", "False", "NoReadyReplica")
    assert not kubectl.items("deployments,services,controllerrevisions", "arriero.dev/model=tiny")
    patch_spec(kubectl, "tiny", {"paused": False})
    Pods(kubectl, "tiny").placed()


def test_a_paused_models_pods_keep_a_name_that_leaves_and_the_status_says_so_when_its_time_is_over(
    kubectl: Kubectl, operator: MakeOperator
) -> None:
    operator()
    kubectl.apply(model("tiny", model={"uri": "hf://org/tiny", "aliases": ["chat"]}))
    pods = Pods(kubectl, "tiny")
    (pod,) = pods.placed()
    pods.ready(pod)
    until(kubectl, "tiny", "Ready", "True", "Ready")
    patch_spec(kubectl, "tiny", {"model": {"aliases": []}})

    def chat() -> Object:
        found = [one for one in read(kubectl, "tiny")["status"]["names"] if one["name"] == "chat"]
        return found[0] if found else {}

    eventually(lambda: chat().get("until"))
    patch_spec(kubectl, "tiny", {"paused": True})
    until(kubectl, "tiny", "Ready", "True", "Paused")
    # Nothing else tells the operator that the time has passed.
    eventually(lambda: chat()["state"] == "Unregistering" and "until" not in chat(), 20)
    (file,) = kubectl.items("configmap", "arriero.dev/model=tiny")
    assert "chat" in file["data"]["registrations.json"]
    patch_spec(kubectl, "tiny", {"paused": False})
    eventually(
        lambda: "chat" not in kubectl.json("get", "configmap", file["metadata"]["name"])["data"]["registrations.json"]
    )
