"""Room for a model in the cache, and sizes in words."""

import os
import shutil
from pathlib import Path
from typing import Final

from arriero_api import pod
from arriero_api.contract import Phase
from arriero_runtime.failing import StartError, start_error

LIMIT_VARIABLE: Final = pod.CACHE_LIMIT_VARIABLE
"""The kubelet evicts a pod whose cache exceeds it."""
_MIB: Final = 1024 * 1024
_MARGIN_BYTES: Final = 64 * _MIB
"""Left for what engine and kernel libraries write beside the model."""


def mib(size: int) -> int:
    """Whole MiB, rounded up."""
    return -(-size // _MIB)


def require(cache_dir: Path, total: int, present: int) -> None:
    """Raises StartError (CacheTooSmall) unless `total` bytes, of which `present` are there already, fit."""
    limit = os.environ.get(LIMIT_VARIABLE, "")
    if limit.isdigit() and int(limit) > 0 and total + _MARGIN_BYTES > int(limit):
        raise too_small(total, int(limit), "the cache volume's limit is")
    free = shutil.disk_usage(cache_dir).free
    if total - present + _MARGIN_BYTES > free:
        raise too_small(total - present, free, "the cache volume has free")


def too_small(needed: int, there: int, what: str) -> StartError:
    """The failure with both numbers."""
    return start_error(
        "CacheTooSmall",
        f"The model needs {mib(needed)} MiB (and {mib(_MARGIN_BYTES)} MiB beside it), {what} {there // _MIB} MiB.",
        Phase.DOWNLOADING,
        details={"neededBytes": needed, "availableBytes": there},
    )
