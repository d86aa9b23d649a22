"""What the supervisor knows of its server. Changed by the main thread alone, read by the control port's threads."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from arriero_api.contract import AdapterStatus, Failure, Phase, Progress, RuntimeStatus
from arriero_api.scrub import scrubbed
from arriero_runtime.messages import Drained, Failed, Heartbeat, Message, MetricsSnapshot, Status
from arriero_runtime.stuck import Stuck

_FIRST: Final = RuntimeStatus(Phase.RESOLVING, Progress(None, "the server starts"))

_ENDS: Final = (Phase.EMPTY, Phase.DRAINING, Phase.FAILED)


class State:
    """`heard_at` and the other times are of `clock`, in seconds.

    Not ready: after `fresh` seconds without a word of the server, after `stuck` seconds without a step of its engine.
    What the server says of failures is kept without `secrets` and what looks like one.
    """

    def __init__(
        self,
        fresh: float,
        stuck: float,
        secrets: frozenset[str] = frozenset(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        now = clock()
        self.clock = clock
        self.status = _FIRST
        self.heartbeat = Heartbeat()
        self.heard_at = now
        self.progressed_at = now
        self.snapshot = ""
        self.snapshot_at = now
        self.drained: Drained | None = None
        self.failed: Failure | None = None
        """What the server itself has said before its end."""
        self.failure: Failure | None = None
        """What the supervisor has concluded."""
        self.alive = False
        self.stopping = False
        self.was_ready = False
        self.reached = _FIRST.phase
        """The last phase of the start or of serving that the server was in."""
        self._fresh = fresh
        self._secrets = secrets
        self._longest_stuck = stuck
        self._stuck = Stuck(now)

    def hear(self, message: Message) -> None:
        """Take over what the server says."""
        self.heard_at = self.clock()
        match message:
            case Status(status):
                self._hear_status(status)
            case Heartbeat():
                self.heartbeat = message
                self._stuck.hear(self.heard_at, message.engine_requests, message.engine_steps_total)
            case MetricsSnapshot(text):
                self.snapshot, self.snapshot_at = text, self.heard_at
            case Failed(failure):
                self.failed = self.failed or scrubbed(failure, self._secrets)
            case Drained():
                self.drained = message

    def _hear_status(self, status: RuntimeStatus) -> None:
        if status.failure:
            status = replace(status, failure=scrubbed(status.failure, self._secrets))
        if status.adapters:
            status = replace(status, adapters=tuple(self._without_secrets(one) for one in status.adapters))
        if (status.phase, status.progress) != (self.status.phase, self.status.progress):
            self.progressed_at = self.heard_at
        if status.phase not in _ENDS:
            self.reached = status.phase
        if status.phase is Phase.READY:
            self.was_ready = True
        self.status = status

    def _without_secrets(self, adapter: AdapterStatus) -> AdapterStatus:
        failure = adapter.failure
        return replace(adapter, failure=scrubbed(failure, self._secrets)) if failure else adapter

    @property
    def phase(self) -> Phase:
        """The phase to tell: a failure and a stop win over what the server last said."""
        if self.failure or self.failed:
            return Phase.FAILED
        return Phase.DRAINING if self.stopping else self.status.phase

    @property
    def said(self) -> Failure | None:
        """Why the server ends, in its own words. A failure that it has left behind, where clients register, is none."""
        return self.failed or (self.status.failure if self.status.phase is Phase.FAILED else None)

    def silent_seconds(self) -> float:
        """Since the server's last word."""
        return self.clock() - self.heard_at

    def stuck_seconds(self) -> float:
        """How long the engine has held requests without a step."""
        return self._stuck.seconds(self.clock())

    def not_ready(self) -> str:
        """Why the pod must get no requests; empty where it may."""
        if self.phase is not Phase.READY:
            failure = self.failure or self.failed
            return f"{self.phase}: {failure.reason}" if failure else str(self.phase)
        if not self.alive:
            return "the server has ended"
        if self.silent_seconds() > self._fresh:
            return f"the server has said nothing for {self.silent_seconds():.0f} s"
        if self.stuck_seconds() > self._longest_stuck:
            return f"the engine has made no step for {self.stuck_seconds():.0f} s with requests in it"
        return ""

    def report(self) -> RuntimeStatus:
        """The body of /status."""
        return replace(
            self.status,
            phase=self.phase,
            requests_in_flight=self.heartbeat.requests_in_flight,
            since_seconds=int(self.clock() - self.progressed_at),
            failure=self.failure or self.failed or self.status.failure,
        )
