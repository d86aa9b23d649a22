"""A whole Kubernetes with one real node on this machine."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import host, network, pause
from tests.cluster.binaries import binaries, kubectl
from tests.cluster.cleanup import clean
from tests.cluster.components import Components
from tests.cluster.containerd import Containerd
from tests.cluster.dns import Dns
from tests.cluster.endpoints import Endpoints
from tests.cluster.errors import ClusterError
from tests.cluster.fakenodes import FakeNodes
from tests.cluster.images import Images, build_and_load
from tests.cluster.images.containerd import Containerd as ImageStore
from tests.cluster.kubeconfigs import write_kubeconfig
from tests.cluster.kubelet import NODE_NAME
from tests.cluster.locking import locked
from tests.cluster.modules import CONTAINERS, COREDNS, HELM, KUBE, KWOK
from tests.cluster.node import Node
from tests.cluster.progress import say
from tests.cluster.state import CLUSTER, State


@dataclass(frozen=True)
class Cluster:
    """The running cluster of this machine; there is at most one."""

    name: str
    kubeconfig: Path
    """The admin's kubeconfig."""
    bin: Path
    """The folder with kubectl and helm, and containerd's ctr."""
    audit_log: Path
    """One JSON object a line for each finished request: user.username, verb, objectRef, responseStatus.code."""
    containerd_socket: Path
    node_name: str
    node_address: str
    """The node's address, at which its processes and this machine's other processes serve pods."""
    toolbox: str
    """An image with busybox and its sh, wget, nslookup, nc: imagePullPolicy Never."""
    images: Images | None
    """The product's images, when they were asked for."""

    @classmethod
    def start(cls, fake_nodes: bool = False, product: bool = True) -> "Cluster":
        """Start the cluster, or repair the one that runs; returns when pods run and Service names resolve.

        With `product`, the product's images are built from the checkout and loaded; a running cluster gets them
        anew when the code has changed. Raises ClusterError with cause and remedy.
        """
        state = State(CLUSTER)
        with locked(state.lock, f"{CLUSTER} is being started or ended"):
            host.prepare(state.folder)
            found = binaries(KUBE, KWOK, HELM, CONTAINERS, COREDNS)
            state.open()
            state.link(kubectl(), found["helm"] / "helm", found["containers"] / "ctr")
            network.set_up(state.folder)
            endpoints = Endpoints.of(state.folder, network.NODE_ADDRESS)
            components = Components(CLUSTER, state.folder, found["kube"], endpoints, state.records)
            components.keep(_kubelet_flags(components))
            write_kubeconfig(state.kubeconfig, endpoints.server, components.authority, components.admin, CLUSTER)
            containerd = Containerd(state.folder, found["containers"], state.records)
            containerd.keep(pause.images()[0].full_name)
            toolbox = pause.load(ImageStore(containerd.socket, containerd.client))
            node = Node(components, containerd, Dns(components, found["coredns"]))
            node.keep()
            if fake_nodes:
                FakeNodes(components, found["kwok"]).keep(tainted=True)
            node.settle()
            components.settle()
            images = _load_product(containerd) if product else None
            say("the cluster is ready")
        return cls(
            name=CLUSTER,
            kubeconfig=state.kubeconfig,
            bin=state.bin,
            audit_log=components.audit_log,
            containerd_socket=containerd.socket,
            node_name=NODE_NAME,
            node_address=network.NODE_ADDRESS,
            toolbox=toolbox,
            images=images,
        )

    def stop(self) -> None:
        """End and remove it; does no harm when it is gone already."""
        clean(self.name)


def _kubelet_flags(components: Components) -> tuple[str, ...]:
    """What lets the API server fetch logs and run commands in pods."""
    pair = components.authority.client("kubelet-client", "kube-apiserver", "system:masters")
    return (
        f"--kubelet-client-certificate={pair.certificate}",
        f"--kubelet-client-key={pair.key}",
        f"--kubelet-certificate-authority={components.authority.certificate}",
        "--kubelet-preferred-address-types=InternalIP",
    )


def _load_product(containerd: Containerd) -> Images:
    say("building and loading the product's images")
    try:
        return build_and_load(containerd.socket, containerd.client)
    except (RuntimeError, subprocess.CalledProcessError) as error:
        raise ClusterError(f"the product's images: {error}") from error
