"""Builds the product's Dockerfiles with buildah, on bases made here: no registry of images is asked."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

from tests.cluster import packages
from tests.cluster.errors import ClusterError
from tests.cluster.images.base import OPERATOR, base
from tests.cluster.images.paths import CHECKOUT

__all__ = ["DEBIAN", "BuildFailed", "Buildah"]

DEBIAN = "docker.io/library/debian:bookworm-slim"
"""What the Dockerfiles take as their base when nothing else is said."""

_TRUST = Path("/etc/ssl/certs/ca-certificates.crt")
_PIP = "[global]\ncert = /etc/ssl/build-trust.crt\ntimeout = 180\n"


class BuildFailed(ClusterError):
    """A command of buildah ended with an error; the text is the end of what it said."""


class Buildah:
    """Images and working containers below one folder, which `remove` empties."""

    def __init__(self, folder: Path) -> None:
        """Installs buildah where it is missing. Raises ClusterError."""
        if not shutil.which("buildah"):
            packages.install(["buildah"])
        self.folder = folder
        self._where = [f"--root={folder / 'root'}", f"--runroot={folder / 'run'}", "--storage-driver=overlay"]

    def build(self, file: Path, tag: str) -> None:
        """Build a Dockerfile, the checkout being its context. Raises BuildFailed."""
        self._do("build", "--isolation=chroot", "--network=host", "--pull-never", "-f", str(file), "-t", tag, CHECKOUT)

    def output(self, image: str, *command: str) -> str:
        """What `command` prints in a container of the image, as the image's own user. Raises BuildFailed."""
        container = self._do("from", "--pull-never", image).strip()
        try:
            # To a file: what chroot isolation copies from a pipe may come too late.
            self._do("run", "--isolation=chroot", container, "--", "sh", "-c", f"{shlex.join(command)} > /tmp/output")
            return (Path(self._do("mount", container).strip()) / "tmp" / "output").read_text()
        finally:
            self._do("umount", container)
            self._do("rm", container)

    def debian(self) -> None:
        """Make the image that stands in for Debian's own, trusting what this machine trusts."""
        container = self._do("from", "scratch").strip()
        root = Path(self._do("mount", container).strip())
        subprocess.run(["cp", "-a", f"{base(OPERATOR).source}/.", root], check=True)
        for folder in ("var/cache/apt/archives/partial", "var/lib/apt/lists/partial", "var/log/apt"):
            (root / folder).mkdir(parents=True)
        shutil.copyfile(_TRUST, root / "etc/ssl/build-trust.crt")
        (root / "etc/pip.conf").write_text(_PIP)
        self._do("umount", container)
        self._do("commit", "--rm", container, DEBIAN)

    def remove(self) -> None:
        """Remove all images, containers and their mounts."""
        self._do("umount", "--all")
        self._do("rm", "--all")
        self._do("rmi", "--all", "--force")

    def _do(self, command: str, *arguments: str | Path) -> str:
        called = ["buildah", *self._where, command, *map(str, arguments)]
        done = subprocess.run(called, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
        if done.returncode:
            raise BuildFailed(f"buildah {command} failed ({done.returncode}):\n{(done.stdout + done.stderr)[-3000:]}")
        return done.stdout
