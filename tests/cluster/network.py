"""The node's network: one address on a bridge of its own, and addresses that never leave this machine.

The range 198.18.0.0/15 is reserved for benchmarks: neither private nor public. The node's address sits on a bridge
because some kernels lack the dummy device. All of the range that is not assigned is unreachable on purpose, so that no
packet for a pod or Service ever takes the default route.
"""

import json
import subprocess
from pathlib import Path

from tests.cluster.components import SERVICE_CIDR
from tests.cluster.errors import ClusterError

NODE_ADDRESS = "198.18.255.1"
POD_CIDR = "198.18.0.0/24"
RANGE = "198.18.0.0/15"
NODE_BRIDGE = "arriero-node"
POD_BRIDGE = "arriero-pods"
FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
CHANGES = (
    f"network: bridges {NODE_BRIDGE} and {POD_BRIDGE}, routes for {RANGE}, forwarding of IPv4 packets on,"
    " nftables tables named kube-proxy"
)


def check_range_free() -> None:
    """Raise ClusterError when another network of this machine uses the range."""
    for link in json.loads(_run("ip", "-json", "-4", "address", "show")):
        for address in link["addr_info"]:
            ours = link["ifname"] in (NODE_BRIDGE, POD_BRIDGE)
            if not ours and address["local"].startswith(("198.18.", "198.19.")):
                raise ClusterError(f"{link['ifname']} has {address['local']}: the cluster needs {RANGE} for itself")


def set_up(folder: Path) -> None:
    """Make the bridge, its address and the routes, whatever of them is there; notes what to restore in `folder`."""
    if not present():
        _run("ip", "link", "add", NODE_BRIDGE, "type", "bridge")
    _run("ip", "address", "replace", f"{NODE_ADDRESS}/32", "dev", NODE_BRIDGE)
    _run("ip", "link", "set", NODE_BRIDGE, "up")
    _run("ip", "route", "replace", "unreachable", RANGE)
    _run("ip", "route", "replace", SERVICE_CIDR, "dev", NODE_BRIDGE)
    before = folder / "ip_forward"
    if not before.is_file():
        before.write_text(FORWARDING.read_text())
    FORWARDING.write_text("1")


def present() -> bool:
    """Whether the node's bridge is there."""
    return Path(f"/sys/class/net/{NODE_BRIDGE}").exists()


def tear_down(folder: Path) -> None:
    """Remove all that `set_up`, the network plugins and kube-proxy have made."""
    for bridge in (POD_BRIDGE, NODE_BRIDGE):
        for port in Path(f"/sys/class/net/{bridge}/brif").glob("*"):
            _attempt("ip", "link", "delete", port.name)
        if Path(f"/sys/class/net/{bridge}").exists():
            _run("ip", "link", "delete", bridge)
    _attempt("ip", "route", "delete", "unreachable", RANGE)
    for family in ("ip", "ip6"):
        _attempt("nft", "delete", "table", family, "kube-proxy")
    before = folder / "ip_forward"
    if before.is_file():
        FORWARDING.write_text(before.read_text())


def plugin_configuration(folder: Path) -> dict[str, object]:
    """The CNI configuration: pods on a bridge, with routes to pods, Services and the node and nothing else."""
    bridge = {
        "type": "bridge",
        "bridge": POD_BRIDGE,
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": str(folder / "addresses"),
            "ranges": [[{"subnet": POD_CIDR}]],
            "routes": [{"dst": RANGE}],
        },
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}, "backend": "nftables"}
    return {"cniVersion": "1.0.0", "name": POD_BRIDGE, "plugins": [bridge, ports]}


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise ClusterError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
    return done.stdout


def _attempt(*command: str) -> None:
    """Run a command whose object may be gone already."""
    subprocess.run(command, capture_output=True)
