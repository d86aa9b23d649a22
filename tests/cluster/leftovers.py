"""What containers leave on a machine when nobody has ended them in order: processes, mounts, cgroups, links."""

import subprocess
from pathlib import Path

from tests.cluster.errors import ClusterError
from tests.cluster.processes import Process, end

_CGROUPS = Path("/sys/fs/cgroup")
_LINKS = Path("/var/log/containers")


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


def remove_log_links(folder: Path) -> None:
    """Remove the links to the pods' logs in `folder` that the kubelet makes in /var/log/containers."""
    if not _LINKS.is_dir():
        return
    for link in _LINKS.iterdir():
        if link.is_symlink() and link.readlink().is_relative_to(folder):
            link.unlink()


def _pod_cgroups() -> list[Path]:
    tops = [_CGROUPS / "kubepods", *_CGROUPS.glob("*/kubepods")]
    return [top for top in tops if top.is_dir() and not top.parent.is_symlink()]
