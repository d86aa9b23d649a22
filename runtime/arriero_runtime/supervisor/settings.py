"""Bounds of the supervisor. Not part of the command line: users have no reason to change them."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from arriero_api import pod
from arriero_api.contract import Phase

_SILENCE: Final = MappingProxyType(
    {
        Phase.EMPTY: 120.0,
        Phase.RESOLVING: 120.0,
        Phase.DOWNLOADING: 120.0,
        Phase.LOADING: 900.0,
        Phase.WARMING: 300.0,
        Phase.READY: 30.0,
        Phase.DRAINING: 60.0,
        Phase.FAILED: 60.0,
    }
)


@dataclass(frozen=True, slots=True)
class Settings:
    """Times are in seconds, sizes in bytes.

    `silence`: how long the server may say nothing, by phase. `fresh`: how old its last word may be for a pod to be
    ready.
    """

    command: tuple[str, ...] = (sys.executable, "-m", "arriero_runtime.server")
    silence: Mapping[Phase, float] = field(default_factory=lambda: _SILENCE)
    fresh: float = 10.0
    stuck: float = 30.0
    """Without a step of the engine while it holds requests, until the pod is not ready: longer than one step of a
    large model on CPU usually takes. See `arriero_runtime.stuck` for what is added up."""
    hang: float = 120.0
    """The same, until the server is to end. A busy engine makes steps, also inside of one long prompt."""
    tick: float = 0.25
    stop_starting: float = 5.0
    """From the signal to stop until a server that is still starting is killed."""
    stop_engine: float = float(pod.ENGINE_STOP_SECONDS)
    last_words: float = 10.0
    """From the server's own `Failed`, or from the word to give up, until it is killed, and from its end until
    everything is killed and its log has been read: one bound for all of that."""
    margin: float = pod.GRACE_MARGIN_SECONDS - 1.0
    """After a stop the same has this much time beyond that of the requests and the engine; then comes SIGKILL."""
    kill: float = 5.0
    """How long killed processes are waited for."""
    first_wait: float = 60.0
    longest_wait: float = 1800.0
    """A permanent failure that repeats is retried after the first wait, doubling up to the longest."""
    longest_asked: float = 900.0
    """A source that asks to wait is asked again after that time, or after this one where it asks for more."""
    pipe_bytes: int = 1024 * 1024
    log_bytes: int = 8 * 1024 * 1024
    parser_bytes: int = 4 * 1024 * 1024
    memory_events: tuple[Path, ...] = (
        Path("/sys/fs/cgroup/memory.events"),
        Path("/sys/fs/cgroup/memory/memory.oom_control"),
    )
    """Where the kernel counts what it has killed for memory, of cgroups version 2 and 1."""
