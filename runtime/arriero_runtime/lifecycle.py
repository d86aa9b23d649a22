"""The life cycle of the one model of a pod: which phase it is in, how far it has come, what it serves.

Empty → Resolving → Downloading → Loading → Warming → Ready → Draining → Empty, or Failed from anywhere. Where clients
register models, Failed is followed by Empty, and the failure is told until the next start.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from arriero_api.contract import AdapterStatus, Failure, Phase, Progress, RuntimeStatus

_NEXT: Final[dict[Phase, frozenset[Phase]]] = {
    Phase.EMPTY: frozenset({Phase.RESOLVING, Phase.DRAINING}),
    Phase.RESOLVING: frozenset({Phase.DOWNLOADING, Phase.LOADING, Phase.DRAINING}),
    Phase.DOWNLOADING: frozenset({Phase.LOADING, Phase.DRAINING}),
    Phase.LOADING: frozenset({Phase.WARMING, Phase.DRAINING}),
    Phase.WARMING: frozenset({Phase.READY, Phase.DRAINING}),
    Phase.READY: frozenset({Phase.DRAINING}),
    Phase.DRAINING: frozenset({Phase.EMPTY}),
    Phase.FAILED: frozenset({Phase.EMPTY}),
}


class TransitionError(RuntimeError):
    """A step that the life cycle does not have: a fault of this program."""


class LifeCycle:
    """The current `RuntimeStatus`, and the only way to change it. `publish` is called after every change."""

    def __init__(self, publish: Callable[[RuntimeStatus], None]) -> None:
        self._publish = publish
        self._status = RuntimeStatus(Phase.EMPTY)

    @property
    def phase(self) -> Phase:
        return self._status.phase

    @property
    def status(self) -> RuntimeStatus:
        return self._status

    def enter(self, phase: Phase, message: str = "") -> None:
        """The next phase. Raises TransitionError where the life cycle has no such step."""
        if phase not in _NEXT[self.phase]:
            raise TransitionError(f"no way from {self.phase} to {phase}")
        changed = replace(self._status, phase=phase, progress=Progress(None, message))
        if phase is Phase.RESOLVING:
            changed = replace(changed, failure=None)
        elif phase is Phase.EMPTY:
            changed = replace(changed, commit="", effective={})
        self._change(changed)

    def progress(self, message: str, percent: int | None = None) -> None:
        """How far the current phase has come; says nothing new when nothing has changed."""
        self._change(replace(self._status, progress=Progress(percent, message)))

    def fail(self, failure: Failure) -> None:
        """Failed: of several failures the first counts."""
        if self.phase is not Phase.FAILED:
            self._change(replace(self._status, phase=Phase.FAILED, progress=Progress(), failure=failure))

    def commit(self, commit: str) -> None:
        """The hub commit in use."""
        self._change(replace(self._status, commit=commit))

    def names(self, names: tuple[str, ...], registrations: str) -> None:
        """The names served, and the hash of the file that they come from."""
        self._change(replace(self._status, names=names, registrations=registrations))

    def adapters(self, adapters: tuple[AdapterStatus, ...]) -> None:
        """How far each adapter that is asked for has come."""
        self._change(replace(self._status, adapters=adapters))

    def effective(self, values: Mapping[str, str | int | bool]) -> None:
        """Engine values in force."""
        self._change(replace(self._status, effective=dict(values)))

    def in_flight(self, requests: int) -> None:
        """Requests under way; published with the next change, as heartbeats carry the number anyway."""
        self._status = replace(self._status, requests_in_flight=requests)

    def _change(self, status: RuntimeStatus) -> None:
        if status != self._status:
            self._status = status
            self._publish(status)
