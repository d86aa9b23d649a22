"""An operator that starts anew finds its children as it left them and writes nothing."""

import pytest

from tests.cluster import ControlPlane
from tests.conftest import MakeOperator
from tests.operator.reconcile.models import model, patch_spec, until
from tests.operator.reconcile.pods import Pods
from tests.support.audit import AuditLog
from tests.support.kubectl import Kubectl

pytestmark = pytest.mark.control_plane

ASKED = ("leases", "selfsubjectaccessreviews")
"""Requests that change no object of a model."""


def test_a_new_operator_writes_nothing_for_models_at_rest(
    operator: MakeOperator, kubectl: Kubectl, control_plane: ControlPlane
) -> None:
    process = operator()
    kubectl.apply(model("plain"))
    kubectl.apply(
        model(
            "full",
            replicas=2,
            resources={"limits": {"cpu": "2000m", "memory": "8192Mi"}},
            engine={"env": [{"name": "A", "value": "b"}], "args": ["--seed=1"]},
            service={"annotations": {"example.com/a": "b"}},
        )
    )
    for name, count in (("plain", 1), ("full", 2)):
        pods = Pods(kubectl, name)
        for pod in pods.placed(count):
            pods.ready(pod)
        until(kubectl, name, "Ready", "True")
    process.stop()
    log = AuditLog.now(control_plane.audit_log)
    again = operator(identity="operator-1")
    for name in ("plain", "full"):  # answered once what the start queued is done
        patch_spec(kubectl, name, {"rollout": {"surgeWaitSeconds": 31}})
        until(kubectl, name, "Ready", "True")
    written = {(one.resource, one.subresource) for one in log.writes(again.user) if one.resource not in ASKED}
    assert written == {("inferencemodels", "status")}
