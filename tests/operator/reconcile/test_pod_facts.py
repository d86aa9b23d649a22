"""What is known of a pod is known from what the cache keeps of it."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from arriero_operator.cache.store import prune
from arriero_operator.diagnose.model import pod_failure
from arriero_operator.diagnose.scheduling import waits_for
from arriero_operator.kube.protocol import PODS
from arriero_operator.pods.facts import pod_facts
from tests.operator.reconcile.made import pod, seen
from tests.support.kubectl import Object

MADE = "2026-01-01T12:00:00Z"
GPU = "nvidia.com/gpu"


def whole(spec: Mapping[str, Any]) -> Object:
    """A pod that serves, but for what its readiness gates or the control plane say."""
    said = {"PodScheduled": "True", "ContainersReady": "True", "Ready": "False"}
    conditions = [{"type": kind, "status": word, "lastTransitionTime": MADE} for kind, word in said.items()]
    running = {"name": "runtime", "ready": True, "restartCount": 0, "state": {"running": {"startedAt": MADE}}}
    return {
        "metadata": {"name": "a", "uid": "u", "creationTimestamp": MADE},
        "spec": spec,
        "status": {"phase": "Running", "conditions": conditions, "containerStatuses": [running]},
    }


def asks(**amounts: str) -> Object:
    """A container, or a pod, that asks for GPUs and other resources."""
    return {"resources": {"requests": {GPU if name == "gpu" else name: amount for name, amount in amounts.items()}}}


class Noted(dict[str, Any]):
    """A spec that notes what it is asked for."""

    def __init__(self) -> None:
        super().__init__(nodeName="n")
        self.keys_asked: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        """As a dictionary."""
        self.keys_asked.add(key)
        return super().get(key, default)


def test_every_field_of_a_spec_that_facts_are_read_from_is_kept() -> None:
    spec = Noted()
    pod_facts(whole(spec))
    assert {"nodeName", "readinessGates", "containers", "initContainers"} <= spec.keys_asked
    full = {key: [{"name": "x"}] for key in spec.keys_asked}
    assert prune(PODS, whole(full))["spec"] == full


def test_a_pod_that_waits_for_its_readiness_gates_is_not_on_a_lost_node() -> None:
    gates = [{"conditionType": "target-health.example.com/x"}]
    found = pod_failure(seen(whole({"nodeName": "n", "readinessGates": gates, "containers": [{"name": "runtime"}]})))
    assert found is None
    lost = pod_failure(seen(whole({"nodeName": "n", "containers": [{"name": "runtime"}]})))
    assert lost is not None
    assert lost.reason == "NodeLost"


SIDECAR = {"name": "side", "restartPolicy": "Always"}
HOLDS: dict[str, tuple[Object, dict[str, int]]] = {
    "its containers together": ({"containers": [asks(cpu="1", gpu="1"), asks(cpu="2")]}, {"cpu": 3, GPU: 1}),
    "a sidecar": ({"initContainers": [SIDECAR | asks(gpu="1")], "containers": [asks(cpu="1")]}, {"cpu": 1, GPU: 1}),
    "a sidecar beside others": (
        {"initContainers": [SIDECAR | asks(cpu="1"), asks(cpu="1")], "containers": [asks(cpu="2")]},
        {"cpu": 3},
    ),
    "the largest init container": (
        {"initContainers": [asks(cpu="4"), SIDECAR | asks(cpu="1"), asks(cpu="5")], "containers": [asks(cpu="2")]},
        {"cpu": 6},
    ),
    "what is said of the whole pod": ({"containers": [asks(gpu="1")], **asks(cpu="8")}, {"cpu": 8, GPU: 1}),
}


@pytest.mark.parametrize(("spec", "amounts"), HOLDS.values(), ids=HOLDS)
def test_a_pod_holds(spec: Object, amounts: dict[str, int]) -> None:
    assert seen(whole(spec)).holds == {name: Decimal(amount) for name, amount in amounts.items()}


def test_a_new_pod_waits_for_what_a_sidecar_holds() -> None:
    words = f"0/1 nodes are available: 1 Insufficient {GPU}. preemption: 1 No preemption victims found."
    new = pod("b", scheduled=False, scheduling_reason="Unschedulable", scheduling_message=words)
    old = seen(whole({"nodeName": "n", "initContainers": [SIDECAR | asks(gpu="1")], "containers": [asks(cpu="1")]}))
    assert waits_for(new, [old])
