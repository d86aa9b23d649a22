"""What this machine must be and have before anything is started on it, and what will be changed on it."""

import os
import shutil
import sys
from pathlib import Path

from tests.cluster import network, packages
from tests.cluster.errors import ClusterError
from tests.cluster.folders import cache_home, containerd_root, state_home
from tests.cluster.processes import MARK
from tests.cluster.progress import say

_STATE_GIB = 1
_IMAGES_GIB = 25
_KUBELETS = ("kubelet", "k3s", "k3s-server", "k0s", "kubelite")


def check_platform() -> None:
    """Raise ClusterError unless this is a Linux machine with some disk left."""
    if sys.platform != "linux":
        raise ClusterError(f"this is {sys.platform}: the local Kubernetes runs on Linux only")
    _check_disk(state_home(), _STATE_GIB)


def prepare(folder: Path) -> None:
    """Check that this machine can carry the node of the cluster in `folder`, say what will change, install packages.

    Raises ClusterError naming what is in the way and the remedy, before anything is changed.
    """
    check_platform()
    check_root()
    check_no_other_kubelet(folder)
    needed = packages.missing()
    if needed and shutil.which("apt-get") is None:
        raise ClusterError(f"this is no Debian: install {', '.join(needed)} by hand and start again")
    if not containerd_root().is_dir():
        _check_disk(cache_home(), _IMAGES_GIB)
    if not folder.is_dir():
        _announce(folder, needed)
    packages.install(needed)
    network.check_range_free()


def check_root() -> None:
    """Raise ClusterError unless this runs as root."""
    if os.geteuid() != 0:
        raise ClusterError("a real node needs root: do this as root, or use `control-plane`, which does not")


def check_no_other_kubelet(folder: Path) -> None:
    """Raise ClusterError when a kubelet runs that is not that of the cluster in `folder`."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            program = (entry / "cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if Path(program).name in _KUBELETS and f"{MARK}={folder}".encode() not in environment:
            raise ClusterError(
                f"another Kubernetes node runs on this machine ({program}, process {entry.name}):"
                " two would destroy each other's containers and rules. End it first, or use another machine"
            )


def _announce(folder: Path, needed: list[str]) -> None:
    say("this is what will be changed on this machine (`make cluster-down` takes back all but packages and caches):")
    changes = [
        f"Debian packages to install: {' '.join(needed)}" if needed else "",
        network.CHANGES,
        f"files: {folder} and cgroups called kubepods",
        f"caches that stay: {cache_home()} (binaries, images; the latter go with `… -m tests.cluster down --purge`)",
        "processes: a whole Kubernetes, reachable from this machine only",
    ]
    for change in filter(None, changes):
        say(f"  - {change}")


def _check_disk(folder: Path, needed: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free / 2**30
    if free < needed:
        raise ClusterError(f"{folder} has {free:.1f} GiB free: {needed} GiB is needed")
