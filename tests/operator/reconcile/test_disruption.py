"""Evictions are held back by a budget where there is more than one replica."""

import json

import pytest

from tests.conftest import MakeOperator
from tests.operator.reconcile.models import model, until
from tests.operator.reconcile.pods import Pods
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, KubectlError, Object

pytestmark = pytest.mark.control_plane


def evict(kubectl: Kubectl, pod: Object) -> None:
    """As a node drain does. Raises KubectlError where the budget forbids it."""
    name = pod["metadata"]["name"]
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": kubectl.namespace}}
    path = f"/api/v1/namespaces/{kubectl.namespace}/pods/{name}/eviction"
    kubectl.run("create", "--raw", path, "-f", "-", stdin=json.dumps(body))


def test_from_two_replicas_on_one_pod_at_a_time_is_evicted(kubectl: Kubectl, operator: MakeOperator) -> None:
    operator()
    kubectl.apply(model("tiny"))
    pods = Pods(kubectl, "tiny")
    (first,) = pods.placed()
    pods.ready(first)
    until(kubectl, "tiny", "Ready", "True", "Ready")
    assert not kubectl.exists("pdb", "tiny")
    kubectl.run("scale", "im/tiny", "--replicas=3")
    for pod in pods.placed(3):
        pods.ready(pod)
    until(kubectl, "tiny", "Ready", "True", "Ready")

    def counted() -> bool:
        status = kubectl.json("get", "pdb", "tiny").get("status", {})
        return bool(status.get("disruptionsAllowed") == 1)

    eventually(counted, 20)
    one, other, third = pods.live()
    evict(kubectl, one)
    with pytest.raises(KubectlError, match="disruption budget"):
        evict(kubectl, other)
    pods.waiting(third, "CrashLoopBackOff", "back-off")
    eventually(lambda: kubectl.json("get", "pdb", "tiny")["status"]["currentHealthy"] == 1, 20)
    evict(kubectl, third)


def test_the_budget_is_put_right_and_goes_with_the_second_replica(kubectl: Kubectl, operator: MakeOperator) -> None:
    operator()
    kubectl.apply(model("tiny", replicas=2))
    eventually(lambda: kubectl.exists("pdb", "tiny"))
    kubectl.patch("pdb", "tiny", {"spec": {"maxUnavailable": 2}})
    eventually(lambda: kubectl.json("get", "pdb", "tiny")["spec"]["maxUnavailable"] == 1, 5)
    kubectl.run("delete", "pdb", "tiny")
    eventually(lambda: kubectl.exists("pdb", "tiny"), 5)
    kubectl.run("scale", "im/tiny", "--replicas=1")
    eventually(lambda: not kubectl.exists("pdb", "tiny"), 5)
