"""The lowest layer: a small Debian with Python, made by debootstrap."""

import shutil
import subprocess
from pathlib import Path

from tests.cluster.errors import ClusterError
from tests.cluster.images import digest
from tests.cluster.images.folders import keep_newest, once
from tests.cluster.images.layer import Layer
from tests.cluster.images.paths import cache
from tests.cluster.progress import say

__all__ = ["OPERATOR", "RUNTIME", "USER", "base"]

SUITE = "bookworm"
OPERATOR = ("ca-certificates", "python3")
# libnuma1 is loaded by vLLM's CPU kernels, g++ is called by TorchInductor at the first compiled function.
RUNTIME = (*OPERATOR, "g++", "libnuma1")
USER = 65532
UNUSED = ("var/cache", "var/lib/apt/lists", "var/log", "usr/share/doc", "usr/share/man", "usr/share/locale", "dev")
RECIPE = 1
"""Counts the changes of this file that change its result."""


def base(packages: tuple[str, ...]) -> Layer:
    """The layer with these Debian packages and what they need (20 to 60 s when it is not in the cache)."""
    key = digest.of_values(SUITE, packages, USER, UNUSED, RECIPE)
    folder = cache("images", "base") / key[:16]
    with once(folder) as partial:
        if partial:
            say(f"making a Debian {SUITE} with {', '.join(packages)}")
            _debootstrap(packages, partial)
            _trim(partial)
    keep_newest(folder, 4)
    return Layer(folder, key)


def _debootstrap(packages: tuple[str, ...], root: Path) -> None:
    if not shutil.which("debootstrap"):
        raise ClusterError("debootstrap is missing: install it (apt-get install debootstrap)")
    log = root.with_suffix(".log")
    # An own mount namespace: whatever it mounts in the new root is gone with it, also after a failure.
    command = ["unshare", "--mount", "debootstrap", "--variant=minbase", f"--include={','.join(packages)}", SUITE]
    with log.open("w") as output:
        done = subprocess.run([*command, str(root)], stdout=output, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise ClusterError(f"debootstrap failed ({done.returncode}):\n{log.read_text()[-2000:]}")
    log.unlink()


def _trim(root: Path) -> None:
    root.chmod(0o755)
    for name in UNUSED:
        shutil.rmtree(root / name)
        (root / name).mkdir()
    for file, line in (
        ("etc/passwd", f"arriero:x:{USER}:{USER}::/nonexistent:/usr/sbin/nologin\n"),
        ("etc/group", f"arriero:x:{USER}:\n"),
    ):
        with (root / file).open("a") as out:
            out.write(line)
