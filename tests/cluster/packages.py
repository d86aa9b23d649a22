"""The Debian packages that the real node needs, and their installation."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.cluster.errors import ClusterError
from tests.cluster.progress import say

# Each package with a file or command that shows that it is there.
NEEDED = {
    "runc": "runc",
    "iptables": "iptables",
    "nftables": "nft",
    "iproute2": "ip",
    "conntrack": "conntrack",
    "ethtool": "ethtool",
    "socat": "socat",
    "curl": "curl",
    "ebtables": "ebtables",
    "debootstrap": "debootstrap",
    "mount": "umount",
    "busybox-static": "/bin/busybox",
    "ca-certificates": "/etc/ssl/certs/ca-certificates.crt",
}
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def missing() -> list[str]:
    """The packages that are not installed; makes the system's folders part of the PATH first."""
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}:{_SYSTEM_PATH}"
    return [package for package, sign in NEEDED.items() if not (Path(sign).exists() or shutil.which(sign))]


def install(packages: list[str]) -> None:
    """Install the packages with apt-get; raises ClusterError with its last words when that fails."""
    if not packages:
        return
    if shutil.which("apt-get") is None:
        raise ClusterError(f"this is no Debian: install {', '.join(packages)} by hand and start again")
    say(f"installing Debian packages: {' '.join(packages)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-qq", "--no-install-recommends", *packages]):
        done = subprocess.run(["apt-get", "-y", *command], capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            raise ClusterError(f"apt-get {command[0]} failed:\n{(done.stdout + done.stderr)[-1500:]}")
