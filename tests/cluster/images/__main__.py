"""Load the images (`python -m tests.cluster.images SOCKET CTR`), or with `environment` name the runtime's packages."""

import sys
from pathlib import Path

from tests.cluster.images import build_and_load, environment


def main(arguments: list[str]) -> int:
    """Do what the module's text says; 2 for a wrong call."""
    if arguments == ["environment"]:
        print(environment.runtime())
    elif len(arguments) == 2:
        images = build_and_load(Path(arguments[0]), Path(arguments[1]))
        print(images.operator, images.runtime_cpu, sep="\n")
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
