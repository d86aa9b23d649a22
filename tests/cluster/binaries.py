"""Builds the Go programs once and keeps them in the user's cache, keyed by all that goes into them."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from tests.cluster.errors import ClusterError
from tests.cluster.folders import cache_home
from tests.cluster.locking import locked
from tests.cluster.modules import SOURCES, GoModule
from tests.cluster.progress import say

_REPORT_SECONDS = 20
_BUILD_GIB = 8


def binaries(*modules: GoModule) -> dict[str, Path]:
    """The folder of finished binaries for each module's name; builds what the cache lacks.

    Raises ClusterError when Go is missing or too old, the disk too small, or a build fails.
    """
    missing = [module for module in modules if not _folder(module).is_dir()]
    if missing:
        check_go(missing)
        _check_disk()
        minutes = sum(module.minutes for module in missing)
        say(f"building {', '.join(module.name for module in missing)}: about {minutes:.0f} minutes, only this once")
    for module in missing:
        with locked(_home() / f".{module.name}.lock", f"the build of {module.name}"):
            if not _folder(module).is_dir():
                _build(module)
    return {module.name: _folder(module) for module in modules}


def kubectl() -> Path:
    """The kubectl that the development packages bring; raises ClusterError when it is not installed."""
    beside = Path(sysconfig.get_path("scripts")) / "kubectl"
    if beside.is_file():
        return beside
    raise ClusterError(f"no kubectl beside {sys.executable}: run `make .venv` and use its Python")


def check_go(modules: list[GoModule]) -> None:
    """Raise ClusterError unless the Go on the PATH is new enough for the modules."""
    needed = max(_go_line(module) for module in modules)
    words = ".".join(map(str, needed[:2]))
    if shutil.which("go") is None:
        raise ClusterError(f"no `go` on the PATH: install Go {words} or newer (https://go.dev/dl)")
    environment = {**os.environ, "GOTOOLCHAIN": "local"}
    text = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, env=environment).stdout
    if _version(text) < needed[:2]:
        raise ClusterError(f"`go` is {text.strip() or 'unusable'}: install Go {words} or newer (https://go.dev/dl)")


def _go_line(module: GoModule) -> tuple[int, ...]:
    text = (SOURCES / module.name / "go.mod").read_text()
    match = re.search(r"^go (\S+)$", text, re.MULTILINE)
    return _version(match[1]) if match else (1, 26)


def _version(text: str) -> tuple[int, ...]:
    match = re.search(r"(\d+(?:\.\d+)+)", text)
    return tuple(map(int, match[1].split("."))) if match else (0,)


def _home() -> Path:
    return cache_home() / "bin"


def _folder(module: GoModule) -> Path:
    digest = hashlib.sha256("\0".join([*module.flags(), *module.packages, *module.names]).encode())
    for file in ("go.mod", "go.sum", "main.go"):
        path = SOURCES / module.name / file
        digest.update(path.read_bytes() if path.is_file() else b"")
    return _home() / f"{module.name}-{digest.hexdigest()[:16]}"


def _check_disk() -> None:
    _home().mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(_home()).free / 2**30
    if free < _BUILD_GIB:
        raise ClusterError(f"{_home()} has {free:.1f} GiB free: a build needs {_BUILD_GIB} GiB")


def _build(module: GoModule) -> None:
    say(f"building {module.contents}")
    with tempfile.TemporaryDirectory(dir=_home(), prefix=".building-") as folder:
        target = Path(folder) / "bin"
        target.mkdir()
        output = str(target / module.name) if module.packages == (".",) else f"{target}/"
        _run(["nice", "go", "build", *module.flags(), "-o", output, *module.packages], module)
        for name in module.names:
            if name != module.name:
                (target / name).symlink_to(module.name)
        target.rename(_folder(module))


def _run(command: list[str], module: GoModule) -> None:
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+") as log:
        child = subprocess.Popen(
            command,
            cwd=SOURCES / module.name,
            stdout=log,
            stderr=log,
            env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false"},
        )
        try:
            while child.poll() is None:
                try:
                    child.wait(_REPORT_SECONDS)
                except subprocess.TimeoutExpired:
                    say(f"  still building {module.name}, for {time.monotonic() - begin:.0f} s")
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()
        if child.returncode != 0:
            log.seek(0)
            raise ClusterError(f"building {module.name} failed:\n{log.read()[-3000:]}")
