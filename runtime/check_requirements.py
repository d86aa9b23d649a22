"""Check that what is installed satisfies an extra of the arriero distribution: `check_requirements.py EXTRA`.

A program for building images; exit code 1 names each package that is missing or of another version.
"""

import sys
from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement


def unmet(distribution: str, extra: str) -> list[str]:
    """A line for each requirement of the distribution with this extra that the environment does not satisfy."""
    lines = []
    for requirement in map(Requirement, requires(distribution) or ()):
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        try:
            found = version(requirement.name)
        except PackageNotFoundError:
            found = "nothing"
        if found == "nothing" or not requirement.specifier.contains(found, prereleases=True):
            lines.append(f"{requirement.name}{requirement.specifier} is needed, {found} is installed")
    return lines


if __name__ == "__main__":
    if problems := unmet("arriero", sys.argv[1]):
        sys.exit("\n".join(problems))
