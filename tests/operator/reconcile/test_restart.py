"""An operator that starts anew finds its children as it left them and writes nothing."""

import pytest

from tests.cluster import ControlPlane
from tests.conftest import MakeOperator
from tests.operator.reconcile.models import model, patch_spec, until
from tests.operator.reconcile.pods import Pods
from tests.support.audit import AuditLog
from tests.support.kubectl import Kubectl
from tests.support.operator import operator_settings

pytestmark = pytest.mark.control_plane

ASKED = ("leases", "selfsubjectaccessreviews")
"""Requests that change no object of a model."""

MESH = {
    "metadata": {"labels": {"team": "nlp"}},
    "spec": {
        "containers": [{"name": "mesh", "image": "mesh:1", "resources": {"requests": {"cpu": "1000m"}}}],
        "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "1024Mi"}}],
    },
}


def test_a_new_operator_writes_nothing_for_models_at_rest(
    operator: MakeOperator, kubectl: Kubectl, control_plane: ControlPlane
) -> None:
    policies = operator_settings(kubectl.namespace)["networkPolicies"] | {"enabled": True}
    process = operator(networkPolicies=policies)
    kubectl.apply(model("plain"))
    kubectl.apply(
        model(
            "full",
            replicas=2,
            resources={"limits": {"cpu": "2000m", "memory": "8192Mi"}},
            engine={"env": [{"name": "A", "value": "b"}], "args": ["--seed=1"]},
            service={"annotations": {"example.com/a": "b"}, "type": "NodePort", "name": "by-name"},
            cache={"emptyDir": {"sizeLimit": "2048Mi"}},
            lora={"maxRank": 8},
            podTemplate=MESH,
        )
    )
    for name, count in (("plain", 1), ("full", 2)):
        pods = Pods(kubectl, name)
        for pod in pods.placed(count):
            pods.ready(pod)
        until(kubectl, name, "Ready", "True")
    process.stop()
    log = AuditLog.now(control_plane.audit_log)
    again = operator(identity="operator-1", networkPolicies=policies)
    for name in ("plain", "full"):  # answered once what the start queued is done
        patch_spec(kubectl, name, {"rollout": {"surgeWaitSeconds": 31}})
        until(kubectl, name, "Ready", "True")
    written = {(one.resource, one.subresource) for one in log.writes(again.user) if one.resource not in ASKED}
    assert written == {("inferencemodels", "status")}
