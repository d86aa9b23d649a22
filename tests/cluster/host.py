"""What this machine must be and have before anything is started on it."""

import shutil
import sys

from tests.cluster.errors import ClusterError
from tests.cluster.folders import state_home

_STATE_GIB = 1


def check_platform() -> None:
    """Raise ClusterError unless this is a Linux machine with some disk left."""
    if sys.platform != "linux":
        raise ClusterError(f"this is {sys.platform}: the local Kubernetes runs on Linux only")
    state_home().mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(state_home()).free / 2**30
    if free < _STATE_GIB:
        raise ClusterError(f"{state_home()} has {free:.1f} GiB free: {_STATE_GIB} GiB is needed")
