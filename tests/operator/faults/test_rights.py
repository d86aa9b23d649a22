"""The chart's rights are exactly those that the operator uses, by the API server's own account."""

import pytest

from arriero_operator.process.rights import rights
from tests.cluster import ControlPlane
from tests.operator.faults.conftest import MakeBehind, serve
from tests.operator.faults.test_api_server import Watches
from tests.operator.reconcile.models import model, patch_spec, read, until
from tests.support.audit import AuditLog
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl
from tests.support.operator import OperatorProcess, operator_settings
from tests.support.proxy import Proxy

pytestmark = pytest.mark.control_plane


LOST = {
    "pods": "Pod",
    "deployments": "Deployment",
    "services": "Service",
    "configmaps": "ConfigMap",
    "controllerrevisions": "ControllerRevision",
    "poddisruptionbudgets": "PodDisruptionBudget",
    "networkpolicies": "NetworkPolicy",
    "persistentvolumeclaims": "PersistentVolumeClaim",
}
"""Kinds of which changes are lost."""


def names(kubectl: Kubectl, kind: str) -> set[str]:
    """Names of all objects of a kind that are the model's."""
    return {one["metadata"]["name"] for one in kubectl.items(kind, "arriero.dev/model=tiny")}


def repaired(operator: OperatorProcess) -> set[str]:
    """Kinds of which the operator has found a change that no watch told it."""
    return {line["kind"] for line in operator.lines() if line["message"] == "Watch had lost a change"}


def a_whole_life(behind: MakeBehind, way: Proxy, kubectl: Kubectl) -> None:
    """A model goes through all that its operator has a right for, a lost event included."""
    guarded = operator_settings(kubectl.namespace)["networkPolicies"] | {"enabled": True}
    watches = Watches()
    with way.fault(watches.fault):
        operator = behind(tuned={"watching.resync.PERIOD": 2.0}, networkPolicies=guarded)
        serve(kubectl, replicas=2)
        kubectl.apply(model("kept", cache={"claimTemplate": {"size": "1Gi"}}))
        eventually(lambda: kubectl.items("persistentvolumeclaims", "arriero.dev/model=kept"))
        # The operator is not told of what changes, and finds it by itself.
        watches.mode = "deaf"
        kubectl.run("label", ",".join(LOST), "-l", "arriero.dev/model", "seen=late")
        kubectl.run("label", "inferencemodel", "tiny", "seen=late")
        eventually(lambda: repaired(operator) >= {"InferenceModel", *LOST.values()}, 30)
        watches.mode = ""
        patch_spec(kubectl, "tiny", {"model": {"aliases": ["chat"]}})
        eventually(lambda: "chat" in {one["name"] for one in read(kubectl, "tiny")["status"]["names"]})
        old = names(kubectl, "controllerrevisions")
        patch_spec(kubectl, "tiny", {"engine": {"maxModelLen": 2048}, "service": {"name": "other"}, "replicas": 1})
        until(kubectl, "tiny", "Ready", "True", "Ready", timeout=30)
        eventually(lambda: not old & names(kubectl, "controllerrevisions"), 20)
        assert names(kubectl, "service") == {"other"}
        eventually(lambda: not names(kubectl, "poddisruptionbudget"))
        # A node ends a pod, and the next revision finds no place beside the one that serves.
        (failed,) = names(kubectl, "pod")
        kubectl.run(
            "patch", "pod", failed, "--subresource=status", "--type=merge", "-p", '{"status":{"phase":"Failed"}}'
        )
        eventually(lambda: failed not in names(kubectl, "pod"), 20)
        until(kubectl, "tiny", "Ready", "True", "Ready", timeout=30)
        patch_spec(kubectl, "tiny", {"resources": {"limits": {"nvidia.com/gpu": 4000}}})
        until(kubectl, "tiny", "Ready", "False", "AcceleratorsNeverFit", timeout=20)
        patch_spec(kubectl, "tiny", {"resources": None})
        until(kubectl, "tiny", "Ready", "True", "Ready", timeout=30)
        eventually(lambda: len(names(kubectl, "pod")) == 1, 20)
        operator.stop()
    behind()
    eventually(lambda: not names(kubectl, "networkpolicy"), 20)


def test_every_right_is_used_and_no_request_goes_beyond_them(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl, control_plane: ControlPlane
) -> None:
    log = AuditLog.now(control_plane.audit_log)
    a_whole_life(behind, way, kubectl)
    user = f"system:serviceaccount:{kubectl.namespace}:arriero"
    granted = {
        (right.group, "/".join(filter(None, (right.resource, right.subresource))), right.verb)
        for right in rights((kubectl.namespace,), kubectl.namespace)
    }
    used = log.rights(user)
    assert not log.denied(user)
    assert sorted(granted - used) == [], "granted, and used by nothing"
    assert sorted(used - granted) == []
