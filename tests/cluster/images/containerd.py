"""A containerd of ours: images and snapshots through its own command-line client, ctr."""

import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.errors import ClusterError
from tests.cluster.images.image import Image
from tests.cluster.images.layer import Layer, chain_ids

__all__ = ["Containerd"]

GC_ROOT = "containerd.io/gc.root"
LOADED = "arriero.dev/loaded"
KEPT = 2


@dataclass(frozen=True)
class Containerd:
    """The containerd that listens at `socket`; `ctr` is the client, `namespace` the kubelet's is k8s.io."""

    socket: Path
    ctr: Path
    namespace: str = "k8s.io"

    def load(self, image: Image) -> None:
        """Make the image available to pods; older ones of its name are removed, except the newest before it."""
        have = self._snapshot_names()
        if image.full_name not in self._loaded(image.name) or chain_ids(image.layers)[-1] not in have:
            top = self._snapshots(image.layers, have)
            self._run("images", "import", "--local", "--discard-unpacked-layers", "-", data=image.archive())
            # From here on the image's configuration holds the snapshots, so they go when the image goes.
            self._run("snapshots", "label", top, f"{GC_ROOT}=")
        self._run("images", "label", image.full_name, f"{LOADED}={time.time_ns()}")
        self._prune(image.name)

    def _snapshot_names(self) -> set[str]:
        return {line.split()[0] for line in self._run("snapshots", "list").splitlines()[1:]}

    def _snapshots(self, layers: list[Layer], have: set[str]) -> str:
        parent = ""
        for layer, name in zip(layers, chain_ids(layers), strict=True):
            if name not in have:
                self._snapshot(layer, name, parent, have)
            parent = name
        return parent

    def _snapshot(self, layer: Layer, name: str, parent: str, have: set[str]) -> None:
        key = f"arriero-{name}"
        if key in have:  # left by a run that was stopped half-way
            self._run("snapshots", "remove", key)
        above = [parent] if parent else []
        mounts = json.loads(self._run("snapshots", "prepare", "--mounts", key, *above))
        _lay(layer, _writable(mounts[0]))
        self._run("snapshots", "commit", name, key)
        if parent:
            self._run("snapshots", "label", parent, f"{GC_ROOT}=")

    def _loaded(self, name: str) -> dict[str, str]:
        """The images of this name in this containerd: full name to when it was loaded (as text)."""
        rows = self._run("images", "list", f"name~=^docker.io/library/{name}:").splitlines()[1:]
        return {row.split()[0]: row.rpartition(f"{LOADED}=")[2].split(",")[0].strip() for row in rows}

    def _prune(self, name: str) -> None:
        loaded = self._loaded(name)
        for old in sorted(loaded, key=lambda full: loaded[full], reverse=True)[KEPT:]:
            target = self._run("images", "list", f"name=={old}").splitlines()[1].split()[2]
            # The kubelet's side has a second name for it, by its ID.
            names = self._run("images", "list", "-q", f"target.digest=={target}").split()
            self._run("images", "remove", "--sync", *names)

    def _run(self, *arguments: str, data: bytes = b"") -> str:
        command = [str(self.ctr), "--address", str(self.socket), "--namespace", self.namespace, *arguments]
        done = subprocess.run(command, input=data, capture_output=True, check=False)
        if done.returncode:
            raise ClusterError(f"ctr {' '.join(arguments)} failed: {done.stderr.decode().strip()}")
        return done.stdout.decode()


def _writable(mount: dict[str, object]) -> Path:
    """The folder of a prepared snapshot in which its own files are: the bind's source or the overlay's upper."""
    options = mount["Options"]
    assert isinstance(options, list)
    upper = [option.removeprefix("upperdir=") for option in options if option.startswith("upperdir=")]
    return Path(upper[0] if upper else str(mount["Source"]))


def _lay(layer: Layer, root: Path) -> None:
    target = root / layer.prefix
    target.mkdir(parents=True, exist_ok=True)
    same_device = layer.source.stat().st_dev == root.stat().st_dev
    link = ["--link"] if same_device else ["--reflink=auto"]
    subprocess.run(["cp", "--archive", *link, f"{layer.source}/.", f"{target}/"], check=True)
