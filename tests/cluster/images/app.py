"""The uppermost layer: the product's own packages, as an installed distribution."""

import shutil
import tomllib
from pathlib import Path

from tests.cluster.images import digest
from tests.cluster.images.environment import compile_tree
from tests.cluster.images.folders import keep_newest, once
from tests.cluster.images.layer import Layer
from tests.cluster.images.paths import CHECKOUT, cache

__all__ = ["SITE_PACKAGES", "app"]

SITE_PACKAGES = "usr/local/lib/python3.11/dist-packages"
"""On the path of Debian's python3 as it is: nothing depends on an environment variable."""


def app(*packages: Path) -> Layer:
    """The layer with these package folders of the checkout and the metadata of the distribution."""
    version = _version()
    files = [file for package in packages for file in digest.source_files(package)]
    key = digest.of_values(digest.of_files(CHECKOUT, files), version)
    folder = cache("images", "app") / key[:16]
    with once(folder) as partial:
        if partial:
            for package in packages:
                shutil.copytree(package, partial / package.name, ignore=shutil.ignore_patterns("__pycache__"))
            _metadata(partial, version)
            compile_tree(partial)
            _readable(partial)
    keep_newest(folder, 6)
    return Layer(folder, key, SITE_PACKAGES)


def _version() -> str:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def _metadata(folder: Path, version: str) -> None:
    info = folder / f"arriero-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: arriero\nVersion: {version}\n")
    (info / "INSTALLER").write_text("arriero\n")


def _readable(folder: Path) -> None:
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
