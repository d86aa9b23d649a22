"""The real node: containerd, kubelet, kube-proxy and DNS around one address."""

from dataclasses import dataclass

from tests.cluster.api import Object, UnavailableError
from tests.cluster.components import Components
from tests.cluster.containerd import Containerd
from tests.cluster.dns import Dns
from tests.cluster.kubelet import NODE_NAME, Kubelet
from tests.cluster.proxy import Proxy
from tests.cluster.waiting import until

ACCELERATORS = 2
_READY_SECONDS = 60
_PATH = f"/api/v1/nodes/{NODE_NAME}"


@dataclass(frozen=True)
class Node:
    """The programs of the node; the network must be up and the API server ready."""

    components: Components
    containerd: Containerd
    dns: Dns

    def keep(self) -> None:
        """Start what does not run."""
        self.dns.keep()
        Kubelet(self.components, self.containerd.socket).keep()

    def settle(self) -> None:
        """Wait until the node takes pods, its accelerators are listed and Service names resolve."""
        until(self._registered, _READY_SECONDS, "the kubelet has registered the node")
        Proxy(self.components).keep()
        amounts = {"nvidia.com/gpu": str(ACCELERATORS)}
        self.components.api.merge(f"{_PATH}/status", {"status": {"capacity": amounts, "allocatable": amounts}})
        until(self._knows_its_pods, _READY_SECONDS, "the kubelet knows its pods")
        until(self._ready, _READY_SECONDS, "the node is ready with its accelerators")
        until(self.dns.ready, _READY_SECONDS, "the cluster's DNS is ready")

    def _registered(self) -> bool:
        for name in ("containerd", "kubelet"):
            self.components.records.require(name)
        return self.components.api.find(_PATH) is not None

    def _knows_its_pods(self) -> bool:
        """False for a while after a restart, when logs and exec would still be refused."""
        self._registered()
        bound = self.components.api.find(f"/api/v1/pods?fieldSelector=spec.nodeName={NODE_NAME}") or {}
        try:
            known = self.components.api.find(f"{_PATH}/proxy/pods") or {}
        except UnavailableError:  # the API server's words for a kubelet that does not listen yet
            return False
        return _uids(bound) <= _uids(known)

    def _ready(self) -> bool:
        self._registered()
        self.components.records.require("kube-proxy")
        node = self.components.api.find(_PATH) or {}
        status = node.get("status", {})
        ready = any(item["type"] == "Ready" and item["status"] == "True" for item in status.get("conditions", []))
        listed = status.get("allocatable", {}).get("nvidia.com/gpu") == str(ACCELERATORS)
        return ready and listed and not node.get("spec", {}).get("taints")


def _uids(pods: Object) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods.get("items") or []}
