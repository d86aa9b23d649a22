"""The kubelet of the real node."""

import json
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.components import Components
from tests.cluster.network import NODE_ADDRESS
from tests.cluster.processes import Configuration

NODE_NAME = "arriero"
_PORT = 10250


@dataclass(frozen=True)
class Kubelet:
    """Runs pods through the containerd at `socket`."""

    components: Components
    socket: Path

    def keep(self) -> None:
        """Start it if it does not run."""
        self.folder.mkdir(exist_ok=True)
        self.resolver.write_text(f"nameserver {NODE_ADDRESS}\n")
        path = self.components.folder / "kubelet.json"
        configuration = Configuration(path, json.dumps(self._configuration()))
        self.components.records.keep("kubelet", self._command(path), configuration)

    @property
    def folder(self) -> Path:
        """Its root folder: volumes of pods are mounted below it."""
        return self.components.folder / "kubelet"

    @property
    def resolver(self) -> Path:
        """The resolv.conf of pods that do not want the cluster's DNS: it names that all the same."""
        return self.components.folder / "resolv.conf"

    def _command(self, config: Path) -> list[str]:
        user = f"system:node:{NODE_NAME}"
        return [
            str(self.components.kube / "kubelet"),
            f"--config={config}",
            f"--kubeconfig={self.components.kubeconfig('kubelet', user, 'system:nodes')}",
            f"--root-dir={self.folder}",
            f"--hostname-override={NODE_NAME}",
            f"--node-ip={NODE_ADDRESS}",
        ]

    def _configuration(self) -> dict[str, object]:
        authority = self.components.authority
        serving = authority.server("kubelet", (NODE_NAME, NODE_ADDRESS))
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": NODE_ADDRESS,
            "port": _PORT,
            "healthzPort": 0,
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(authority.certificate)},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": str(serving.certificate),
            "tlsPrivateKeyFile": str(serving.key),
            "containerRuntimeEndpoint": f"unix://{self.socket}",
            "clusterDomain": "cluster.local",
            "clusterDNS": [NODE_ADDRESS],
            "resolvConf": str(self.resolver),
            "podLogsDir": str(self.components.folder / "pod-logs"),
            "volumePluginDir": str(self.components.folder / "volume-plugins"),
            "makeIPTablesUtilChains": False,
        } | _SPARING


# Nothing is reserved, nothing is evicted for disk, no image is ever collected; machines with cgroup v1, with swap or
# without the right to change OOM scores will do.
_SPARING: dict[str, object] = {
    "cgroupDriver": "cgroupfs",
    "failCgroupV1": False,
    "failSwapOn": False,
    "enforceNodeAllocatable": [],
    "oomScoreAdj": 0,
    "evictionHard": {
        "memory.available": "50Mi",
        "nodefs.available": "0%",
        "nodefs.inodesFree": "0%",
        "imagefs.available": "0%",
        "imagefs.inodesFree": "0%",
    },
    "imageGCHighThresholdPercent": 100,
    "imageGCLowThresholdPercent": 99,
}
