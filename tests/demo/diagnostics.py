"""What helps to see why the demo failed."""

import subprocess

from tests.demo import output
from tests.demo.client import NAMESPACE
from tests.demo.errors import DemoError
from tests.demo.install import SYSTEM
from tests.demo.tools import Tools

_COMMANDS = (
    ("kubectl", "get", "im", "-A", "-o", "wide"),
    ("kubectl", "get", "pods", "-A", "-o", "wide"),
    ("kubectl", "describe", "im", "-n", NAMESPACE),
    ("kubectl", "get", "events", "-A", "--sort-by=.lastTimestamp"),
    ("kubectl", "logs", "-n", SYSTEM, "-l", "app.kubernetes.io/name=arriero-operator", "--tail=40"),
    ("kubectl", "logs", "-n", NAMESPACE, "-l", "arriero.dev/serving=true", "--tail=40", "--prefix"),
)


def show(tools: Tools) -> None:
    """Print the cluster's state and the ends of the logs; what cannot be had is left out."""
    output.heading("What the cluster says")
    for argv in _COMMANDS:
        try:
            tools.show(*argv)
        except (DemoError, OSError, subprocess.TimeoutExpired) as error:
            output.result(str(error))
