"""Python packages as locked, in a folder of the user's cache."""

import os
import shutil
import subprocess
from pathlib import Path

from uv import find_uv_bin

from tests.cluster.images import digest
from tests.cluster.images.folders import keep_newest, once
from tests.cluster.images.paths import CHECKOUT, cache
from tests.cluster.progress import say

__all__ = ["PYTHON", "clients", "model_tools", "operator", "python_with", "runtime", "vision"]

PYTHON = Path("/usr/bin/python3.11")
"""Debian's interpreter: the images have the same, so extension modules and compiled files fit."""


def runtime() -> Path:
    """Site-packages of the runtime on the CPU, vLLM included (6 GB, a minute to download)."""
    return _locked("runtime-env", "runtime-cpu.txt")


def operator() -> Path:
    """Site-packages of the operator."""
    return _locked("operator-env", "operator.txt")


def model_tools() -> Path:
    """What the conversion of the tests' weights needs beside the runtime's packages."""
    return _locked("model-tools-env", "model-tools.txt")


def vision() -> Path:
    """What models that see need beside the runtime's packages."""
    return _locked("vision-env", "vision.txt")


def clients(lock_name: str = "clients.txt") -> Path:
    """Clients that the tests drive in processes of their own, as they need what the project does not."""
    return _locked(lock_name.replace(".txt", "-env"), lock_name)


def python_with(*site_packages: Path) -> dict[str, str]:
    """The environment variables for a process of PYTHON that imports from these folders."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(str(folder) for folder in site_packages)}


def _locked(name: str, lock_name: str) -> Path:
    lock = CHECKOUT / "locks" / lock_name
    folder = cache(name) / digest.of_pins(lock)[:16]
    with once(folder) as partial:
        if partial:
            _install(lock, partial)
            compile_tree(partial)
    keep_newest(folder, 2)
    return folder


def _install(lock: Path, target: Path) -> None:
    say(f"installing {lock.name} into the user's cache")
    options = ["--require-hashes", "--no-deps", "--link-mode", "hardlink", "--quiet"]
    subprocess.run(
        [find_uv_bin(), "pip", "install", "--python", PYTHON, "--target", target, *options, "-r", lock], check=True
    )
    # Console scripts carry the path of the building interpreter; the images start modules.
    shutil.rmtree(target / "bin", ignore_errors=True)


def compile_tree(folder: Path) -> None:
    """Compile the Python files of a folder so that a read-only file system costs no start-up time.

    Unchecked: the layers' files never change under their compiled form. Files that are templates for another
    Python do not compile; nothing imports them.
    """
    options = ["-q", "-q", "-j", "2", "--invalidation-mode", "unchecked-hash"]
    subprocess.run([PYTHON, "-m", "compileall", *options, folder], check=False)
