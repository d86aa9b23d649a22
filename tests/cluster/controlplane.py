"""A Kubernetes control plane on loopback, with two fake nodes that carry accelerators."""

from dataclasses import dataclass
from pathlib import Path

from tests.cluster.binaries import binaries, kubectl
from tests.cluster.cleanup import clean
from tests.cluster.components import Components
from tests.cluster.endpoints import LOOPBACK, Endpoints
from tests.cluster.errors import ClusterError
from tests.cluster.fakenodes import FakeNodes
from tests.cluster.host import check_platform
from tests.cluster.kubeconfigs import write_kubeconfig
from tests.cluster.locking import locked
from tests.cluster.modules import HELM, KUBE, KWOK
from tests.cluster.progress import say
from tests.cluster.state import CLUSTER, CONTROL_PLANE, State


@dataclass(frozen=True)
class ControlPlane:
    """A running control plane; any number of them run beside each other, each under its own name."""

    name: str
    kubeconfig: Path
    """The admin's kubeconfig."""
    bin: Path
    """The folder with kubectl and helm."""
    audit_log: Path
    """One JSON object a line for each finished request: user.username, verb, objectRef, responseStatus.code."""

    @classmethod
    def start(cls, name: str = CONTROL_PLANE) -> "ControlPlane":
        """Start the control plane called `name`, or repair the one that runs; returns when pods can be scheduled.

        Raises ClusterError with cause and remedy when it cannot.
        """
        if name == CLUSTER:
            raise ClusterError(f"{CLUSTER!r} is the name of the cluster with a real node: choose another")
        state = State(name)
        with locked(state.lock, f"{name} is being started or ended"):
            check_platform()
            found = binaries(KUBE, KWOK, HELM)
            state.open()
            endpoints = Endpoints.of(state.folder, LOOPBACK)
            components = Components(name, state.folder, found["kube"], endpoints, state.records)
            components.keep(("--endpoint-reconciler-type=none",))
            FakeNodes(components, found["kwok"]).keep(tainted=False)
            components.settle()
            write_kubeconfig(state.kubeconfig, endpoints.server, components.authority, components.admin, name)
            state.link(kubectl(), found["helm"] / "helm")
            say(f"{name} is ready")
        return cls(name, state.kubeconfig, state.bin, components.audit_log)

    def stop(self) -> None:
        """End and remove it; does no harm when it is gone already."""
        clean(self.name)
