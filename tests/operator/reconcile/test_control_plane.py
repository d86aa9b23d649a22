"""A model from apply to delete, on a real API server with fake nodes."""

import pytest

from tests.conftest import MakeOperator
from tests.operator.reconcile.models import model, read, until
from tests.operator.reconcile.pods import Pods
from tests.support.kubectl import Kubectl

pytestmark = pytest.mark.control_plane


def test_an_applied_model_becomes_ready_with_its_pod(kubectl: Kubectl, operator: MakeOperator) -> None:
    operator()
    kubectl.apply(model("tiny"))
    pods = Pods(kubectl, "tiny")
    (pod,) = pods.placed()
    until(kubectl, "tiny", "Ready", "False", "StartingContainer")
    pods.ready(pod)
    until(kubectl, "tiny", "Ready", "True", "Ready")
    status = read(kubectl, "tiny")["status"]
    print(status)
    assert status["url"] == f"http://tiny.{kubectl.namespace}.svc"
    assert status["accelerators"] == "nvidia.com/gpu: 1"
    assert [(name["name"], name["state"]) for name in status["names"]] == [("tiny", "Registered")]
    assert "progress" not in status
    for kind in ("service", "deployment"):
        assert kubectl.exists(kind, "tiny")
