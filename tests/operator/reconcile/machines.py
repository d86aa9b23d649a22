"""Fake nodes of a test's own, and operators whose models run on one of them alone."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster.fakenodes import FAKE_NODE_LABEL
from tests.conftest import MakeOperator
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object
from tests.support.operator import OperatorProcess, operator_settings

GPU = "nvidia.com/gpu"
_HOST = "kubernetes.io/hostname"


@contextmanager
def machine(kubectl: Kubectl, accelerators: int) -> Iterator[str]:
    """The name of a node with so many accelerators; it goes with the test."""
    name = f"machine-{secrets.token_hex(4)}"
    amounts = {"cpu": "64", "memory": "512Gi", "ephemeral-storage": "1Ti", "pods": "50", GPU: str(accelerators)}
    labels = {FAKE_NODE_LABEL: "true", _HOST: name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": amounts, "allocatable": amounts},
    }
    kubectl.apply(node)
    try:
        eventually(lambda: _usable(kubectl, name), 30)
        yield name
    finally:
        kubectl.run("delete", "node", name, "--wait=false")


def operator_on(operator: MakeOperator, kubectl: Kubectl, node: str, identity: str = "operator-0") -> OperatorProcess:
    """An operator whose default profile puts pods of one accelerator onto `node`."""
    settings = operator_settings(kubectl.namespace)
    profile: Object = settings["profiles"]["nvidia"]
    profile |= {"nodeSelector": {_HOST: node}, "resources": {"limits": {GPU: 1}, "requests": {}}}
    return operator(profiles=settings["profiles"], identity=identity)


def _usable(kubectl: Kubectl, name: str) -> bool:
    node = kubectl.json("get", "node", name)
    conditions = {one["type"]: one["status"] for one in node.get("status", {}).get("conditions", [])}
    tainted = any(taint["key"].startswith("node.kubernetes.io/") for taint in node["spec"].get("taints", []))
    return conditions.get("Ready") == "True" and not tainted
