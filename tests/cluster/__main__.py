"""The command line: `python -m tests.cluster control-plane | cluster | down`."""

import argparse
import sys

from tests.cluster.cleanup import clean
from tests.cluster.controlplane import ControlPlane
from tests.cluster.errors import ClusterError
from tests.cluster.folders import state_names
from tests.cluster.state import CONTROL_PLANE


def main() -> int:
    """Run one command; 0 when it succeeded, 1 with the reason on standard error when not."""
    arguments = _parser().parse_args()
    try:
        if arguments.command == "control-plane":
            started = ControlPlane.start(arguments.name)
        else:
            _down(arguments)
            return 0
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"PATH={started.bin}")
    print(f"KUBECONFIG={started.kubeconfig}")
    return 0


def _down(arguments: argparse.Namespace) -> None:
    for name in state_names() if arguments.all else [arguments.name]:
        clean(name)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description="A local Kubernetes from source.")
    commands = parser.add_subparsers(dest="command", required=True)
    control = commands.add_parser("control-plane", help="a control plane with two fake nodes of eight accelerators")
    control.add_argument("--name", default=CONTROL_PLANE, help="several run at once under different names")
    down = commands.add_parser("down", help="end and remove what was started, also after a crash")
    down.add_argument("--name", default=CONTROL_PLANE, help="the one to remove")
    down.add_argument("--all", action="store_true", help="remove every control plane and the cluster")
    return parser


if __name__ == "__main__":
    sys.exit(main())
