"""What the packages import is declared as a dependency of theirs, not merely brought along by another."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OWN = {"arriero_api", "arriero_operator", "arriero_runtime"}
ENGINE = frozenset({"vllm", "torch", "safetensors", "uvloop", "aiohttp", "requests"})
"""They come with the engine, which each image pins; by the last two it fetches media."""


def imported(package: Path) -> set[str]:
    """Names of top-level modules that a package imports, its own and the standard library's left out."""
    found = set()
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
    return found - OWN - set(sys.stdlib_module_names)


def normal(distribution: str) -> str:
    """One spelling of the name of a distribution."""
    return re.sub("[-_.]+", "-", distribution).lower()


def declared(*extras: str) -> set[str]:
    """Distributions that pyproject.toml names for these extras."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    return {normal(re.split(r"[<>=\[ ]", line)[0]) for extra in extras for line in groups[extra]}


@pytest.mark.parametrize(
    ("package", "extras", "given"),
    [
        ("crds/arriero_api", ("operator", "runtime"), frozenset[str]()),
        ("operator/arriero_operator", ("operator",), frozenset[str]()),
        ("runtime/arriero_runtime", ("runtime",), ENGINE),
    ],
)
def test_what_a_package_imports_it_declares(package: str, extras: tuple[str, ...], given: frozenset[str]) -> None:
    modules = imported(ROOT / package) - given
    distributions = packages_distributions()
    lacking = {m for m in modules if not {normal(d) for d in distributions.get(m, [m])} & declared(*extras)}
    assert not lacking
