"""Where the local Kubernetes keeps what it makes: outside of the checkout, per user."""

import os
import re
from pathlib import Path

from tests.cluster.errors import ClusterError

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")


def cache_home() -> Path:
    """The folder of what is worth keeping between starts: built binaries and imported images."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "arriero"


def state_home() -> Path:
    """The folder that holds one state folder for each control plane or cluster."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "arriero"


def state_folder(name: str) -> Path:
    """The state folder of the control plane or cluster called `name`; raises ClusterError for a bad name."""
    if not _NAME.fullmatch(name):
        raise ClusterError(f"name {name!r}: use at most 40 lower-case letters, digits and inner hyphens")
    return state_home() / name


def containerd_root() -> Path:
    """Where containerd keeps images; it outlives `down`, so that images are imported once."""
    return cache_home() / "containerd"


def state_names() -> list[str]:
    """The names of all control planes and clusters that have a state folder, running or not."""
    if not state_home().is_dir():
        return []
    return sorted(path.name for path in state_home().iterdir() if path.is_dir() and _NAME.fullmatch(path.name))
