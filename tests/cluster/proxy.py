"""kube-proxy of the real node: makes Services reachable through nftables."""

import json
from dataclasses import dataclass

from tests.cluster.components import Components
from tests.cluster.endpoints import LOOPBACK
from tests.cluster.kubelet import NODE_NAME
from tests.cluster.network import NODE_ADDRESS, POD_CIDR
from tests.cluster.processes import Configuration

# Connection tracking of the whole machine stays as it is.
_UNTOUCHED = {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"}


@dataclass(frozen=True)
class Proxy:
    """Needs the registered node: kube-proxy waits for it, and ends when the node's addresses change."""

    components: Components

    def keep(self) -> None:
        """Start it if it does not run."""
        path = self.components.folder / "kube-proxy.json"
        configuration = Configuration(path, json.dumps(self._configuration()))
        command = [str(self.components.kube / "kube-proxy"), f"--config={path}"]
        self.components.records.keep("kube-proxy", command, configuration)

    def _configuration(self) -> dict[str, object]:
        kubeconfig = self.components.kubeconfig("kube-proxy", "system:kube-proxy")
        return {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "clientConnection": {"kubeconfig": str(kubeconfig)},
            "mode": "nftables",
            # All pods share one bridge: without it an answer would go straight back and miss its translation.
            "nftables": {"masqueradeAll": True},
            "hostnameOverride": NODE_NAME,
            "clusterCIDR": POD_CIDR,
            "conntrack": _UNTOUCHED,
            "nodePortAddresses": [f"{NODE_ADDRESS}/32"],
            "healthzBindAddress": f"{NODE_ADDRESS}:10256",
            "metricsBindAddress": f"{LOOPBACK}:10249",
        }
