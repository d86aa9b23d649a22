"""The operator with other times than its own, so that a test need not wait for minutes; nothing else differs.

TUNED is JSON: names of constants below `arriero_operator`, such as "watching.watches.INACTIVITY", and their values.
SERVICE_ACCOUNT is a folder that stands in the place of the one where the kubelet puts a pod's token.
"""

import importlib
import json
import os
import sys

from kubernetes.aio.config import incluster_config

from arriero_operator.process.command import run
from arriero_operator.reconcile.reconciler import make_reconcile


def tune() -> None:
    """Put the values in place; before any of the operator is made."""
    for path, value in json.loads(os.environ.get("TUNED", "{}")).items():
        module, _, name = path.rpartition(".")
        found = importlib.import_module(f"arriero_operator.{module}")
        assert hasattr(found, name), path
        setattr(found, name, value)


def main() -> int:
    """The operator's exit code."""
    tune()
    if folder := os.environ.get("SERVICE_ACCOUNT"):
        incluster_config.SERVICE_TOKEN_FILENAME = f"{folder}/token"
        incluster_config.SERVICE_CERT_FILENAME = f"{folder}/ca.crt"
    return run(make_reconcile)


if __name__ == "__main__":
    sys.exit(main())
