"""The command line: `python -m tests.cluster control-plane | cluster | down`."""

import argparse
import sys

from tests.cluster.cleanup import clean, purge
from tests.cluster.cluster import Cluster
from tests.cluster.controlplane import ControlPlane
from tests.cluster.errors import ClusterError
from tests.cluster.folders import state_names
from tests.cluster.state import CLUSTER, CONTROL_PLANE


def main() -> int:
    """Run one command; 0 when it succeeded, 1 with the reason on standard error when not."""
    arguments = _parser().parse_args()
    try:
        if arguments.command == "down":
            _down(arguments)
            return 0
        started = _start(arguments)
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"PATH={started.bin}")
    print(f"KUBECONFIG={started.kubeconfig}")
    return 0


def _start(arguments: argparse.Namespace) -> ControlPlane | Cluster:
    if arguments.command == "control-plane":
        return ControlPlane.start(arguments.name)
    return Cluster.start(fake_nodes=arguments.fake_nodes, product=not arguments.no_images)


def _down(arguments: argparse.Namespace) -> None:
    names = state_names() if arguments.all else arguments.name or [CLUSTER, CONTROL_PLANE]
    for name in names:
        clean(name)
    if arguments.purge:
        purge()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description="A local Kubernetes from source.")
    commands = parser.add_subparsers(dest="command", required=True)
    control = commands.add_parser("control-plane", help="a control plane with two fake nodes of eight accelerators")
    control.add_argument("--name", default=CONTROL_PLANE, help="several run at once under different names")
    cluster = commands.add_parser("cluster", help="a control plane and a real node with two accelerators")
    cluster.add_argument("--fake-nodes", action="store_true", help="add the fake nodes, tainted")
    cluster.add_argument("--no-images", action="store_true", help="leave the product's images out")
    down = commands.add_parser("down", help="end and remove what was started, also after a crash")
    down.add_argument("--name", action="append", help=f"the one to remove (without: {CLUSTER} and {CONTROL_PLANE})")
    down.add_argument("--all", action="store_true", help="remove every control plane and the cluster")
    down.add_argument("--purge", action="store_true", help="remove the cache of imported images too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
