"""Ends and removes a control plane or cluster, whatever state it is in."""

import shutil

from tests.cluster import host, leftovers, network
from tests.cluster.components import NAMES
from tests.cluster.containerd import Containerd
from tests.cluster.errors import ClusterError
from tests.cluster.folders import containerd_root
from tests.cluster.locking import locked
from tests.cluster.processes import end, marked
from tests.cluster.progress import say
from tests.cluster.state import CLUSTER, State


def clean(name: str) -> None:
    """End every process of `name` and remove its state folder; does nothing when there is none.

    What only a crash leaves behind is removed too; raises ClusterError when something resists.
    """
    state = State(name)
    with locked(state.lock, f"{name} is being started or ended"):
        if not (state.folder.is_dir() or marked(state.folder) or (name == CLUSTER and network.present())):
            state.lock.unlink(missing_ok=True)
            return
        say(f"ending {name}")
        if name == CLUSTER:
            host.check_root()
            _end_node(state)
        state.records.end(*NAMES, *state.records.names(), grace=0)
        end(marked(state.folder), grace=0)
        if name == CLUSTER:
            _clean_node(state)
        shutil.rmtree(state.folder, ignore_errors=not state.folder.exists())
        state.lock.unlink(missing_ok=True)
        say(f"{name} is gone")


def purge() -> None:
    """Remove the cache of imported images; the cluster must be down."""
    if State(CLUSTER).folder.is_dir():
        raise ClusterError("the cluster uses the cached images: end it first")
    leftovers.unmount(containerd_root())
    if containerd_root().is_dir():
        shutil.rmtree(containerd_root())


def _end_node(state: State) -> None:
    """End what makes containers, then the containers, then containerd."""
    records = state.records
    records.end("kubelet", "kube-proxy", "coredns", grace=0)
    client = state.bin / "ctr"
    if client.exists():
        try:
            Containerd(state.folder, client.resolve().parent, records).remove_containers()
        except ClusterError as error:
            say(f"  containerd is of no help, ending its containers without it: {error}")
    records.end("containerd", grace=10)


def _clean_node(state: State) -> None:
    host.check_no_other_kubelet(state.folder)
    leftovers.end_pods()
    leftovers.unmount(state.folder)
    leftovers.unmount(containerd_root())
    leftovers.remove_cgroups()
    leftovers.remove_files(state.folder, network.POD_BRIDGE)
    network.tear_down(state.folder)
