"""`python3 -m arriero_runtime`: the container's process 1."""

import sys

from arriero_runtime.supervisor.signals import Signals


def main() -> int:
    """Returns the exit code. Signals are taken over first: a signal to stop must not get lost while the rest loads."""
    signals = Signals()
    from arriero_runtime.supervisor.main import run

    return run(sys.argv[1:], signals)


if __name__ == "__main__":
    sys.exit(main())
