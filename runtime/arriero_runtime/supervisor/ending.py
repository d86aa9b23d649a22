"""What an end of the server means."""

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arriero_api.contract import Failure, Shutdown
from arriero_runtime.diagnosis import UNKNOWN, make_failure, shorten

_VAGUE: Final = (UNKNOWN, "EngineDied")
"""What a server says that has not seen why its engine is gone: the kernel or the log may know."""


@dataclass(frozen=True, slots=True)
class End:
    """All that is known of an end. `wait_status` is the kernel's, None where the server could not be reaped.

    `failed`: what the server said itself. `complaint`: why the supervisor ended it. `out_of_memory`: the kernel has
    killed one of the container's processes for its memory. `told`: the diagnosis of the log.
    """

    wait_status: int | None
    stopping: bool
    was_ready: bool
    failed: Failure | None = None
    complaint: Failure | None = None
    out_of_memory: bool = False
    told: Failure | None = None


def meaning(end: End) -> Failure | None:
    """The failure to report; None after a stop that was asked for.

    What the server says itself counts most; where it knows no cause, what its log tells.
    """
    said = end.failed
    if said and said.reason not in _VAGUE:
        return said
    if end.complaint:
        return end.complaint
    if end.stopping and not said:
        return None
    how = f"The server {describe(end.wait_status)}"
    if end.out_of_memory:
        return out_of_memory(how)
    if end.was_ready:
        words = [said.message if said else f"{how} while it served", end.told.message if end.told else ""]
        return make_failure("EngineDied", ": ".join(word.rstrip(".") for word in words if word))
    return end.told or said or make_failure(UNKNOWN, f"{how} before it was ready and told no error")


def out_of_memory(how: str = "") -> Failure:
    """`how` tells what became of the server."""
    return make_failure("OOMKilled", f"The kernel ended a process of the container for its memory. {how}")


def describe(wait_status: int | None) -> str:
    """How a process ended, in words."""
    if wait_status is None:
        return "ended"
    code = os.waitstatus_to_exitcode(wait_status)
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def oom_kills(files: Sequence[Path]) -> int:
    """How many processes of this container the kernel has killed for memory; 0 where none of the files tells."""
    for file in files:
        try:
            counts = dict(line.split() for line in file.read_text().splitlines())
            return int(counts["oom_kill"])
        except (OSError, ValueError, KeyError):
            continue
    return 0


def leave(end: Failure | Shutdown | None, termination_log: Path, limit: int) -> str:
    """Write the termination message, empty where nothing is known; returns why that failed, empty where it did not."""
    match end:
        case Failure():
            text = end.to_json(limit)
        case Shutdown():
            text = end.to_json()
        case None:
            text = ""
    try:
        termination_log.write_text(text)
    except OSError as error:
        return shorten(f"{termination_log}: {error.strerror}")
    return ""
