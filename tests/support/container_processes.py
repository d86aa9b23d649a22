"""Processes of containers on the local node, as this machine numbers them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def process_of(status: Mapping[str, Any], words: bytes) -> int:
    """The first process of a container, given by its entry in a pod's status, with `words` in its command line."""
    identity = status["containerID"].rpartition("/")[2]
    for folder in sorted(Path("/proc").iterdir(), key=lambda one: one.name):
        try:
            here = folder.name.isdigit() and identity in (folder / "cgroup").read_text()
            if here and words in (folder / "cmdline").read_bytes():
                return int(folder.name)
        except OSError:
            continue  # it has ended meanwhile
    raise AssertionError(f"no process of container {identity} with {words!r}")
