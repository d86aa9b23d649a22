"""What containers leave on a machine when nobody has ended them in order: processes, mounts, cgroups, links."""

import socket
import subprocess
from contextlib import suppress
from pathlib import Path

from tests.cluster.errors import ClusterError
from tests.cluster.processes import Process, end

_CGROUPS = Path("/sys/fs/cgroup")
_LOGS = Path("/var/log/containers")
_RESULTS = Path("/var/lib/cni/results")
_PLUGIN_SOCKET = Path("/var/lib/kubelet/device-plugins/kubelet.sock")
_SHIM_SOCKETS = Path("/run/containerd/s")
_EMPTIED = (
    _LOGS,
    _RESULTS,
    _RESULTS.parent,
    _PLUGIN_SOCKET.parent,
    _PLUGIN_SOCKET.parent.parent,
    *map(Path, ("/run/containerd/runc/k8s.io", "/run/containerd/runc", "/run/containerd/fifo")),
    _SHIM_SOCKETS,
    Path("/run/containerd"),
)


def end_pods() -> None:
    """Kill every process in a cgroup of the kubelet's (there is one kubelet on this machine: ours)."""
    found = []
    for top in _pod_cgroups():
        for listing in top.rglob("cgroup.procs"):
            found += [process for pid in listing.read_text().split() if (process := Process.of(int(pid)))]
    end(found, grace=0)


def remove_cgroups() -> None:
    """Remove the kubelet's cgroups; they must be empty of processes."""
    for top in _pod_cgroups():
        for folder in sorted((path for path in top.rglob("*") if path.is_dir()), reverse=True):
            folder.rmdir()
        top.rmdir()


def unmount(folder: Path) -> None:
    """Unmount everything mounted below `folder`; raises ClusterError when something stays mounted."""
    for point in reversed(_mounts(folder)):
        subprocess.run(["umount", "--lazy", point], capture_output=True)
    if left := _mounts(folder):
        raise ClusterError(f"cannot unmount {', '.join(left)}: see what uses it with `fuser -vm`, then repeat `down`")


def _mounts(folder: Path) -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [line.split()[4].encode().decode("unicode_escape") for line in lines]
    return [point for point in points if Path(point).is_relative_to(folder)]


def remove_files(folder: Path, network: str) -> None:
    """Remove what is written outside of the state folder `folder` under fixed names (no other kubelet may run)."""
    for link in _LOGS.glob("*"):
        if link.is_symlink() and link.readlink().is_relative_to(folder):
            link.unlink()
    sandboxes = {path.name.removeprefix(f"{network}-").split("-")[0] for path in _RESULTS.glob(f"{network}-*")}
    for sandbox in sandboxes:
        for result in _RESULTS.glob(f"*-{sandbox}-*"):
            result.unlink()
    _PLUGIN_SOCKET.unlink(missing_ok=True)
    for listener in _SHIM_SOCKETS.glob("*"):
        if not _answers(listener):
            listener.unlink()
    for path in _EMPTIED:
        with suppress(OSError):  # in use by others, or never made
            path.rmdir()


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


def _pod_cgroups() -> list[Path]:
    tops = [_CGROUPS / "kubepods", *_CGROUPS.glob("*/kubepods")]
    return [top for top in tops if top.is_dir() and not top.parent.is_symlink()]
