"""`python -m arriero_operator`: the operator."""

import sys

from arriero_operator.process.command import run
from arriero_operator.reconcile.reconciler import make_reconcile


def main() -> int:
    """The exit code."""
    return run(make_reconcile)


if __name__ == "__main__":
    sys.exit(main())
