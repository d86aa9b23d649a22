"""One adapter that is asked for, and how far it has come."""

import asyncio
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from arriero_api.contract import AdapterState, AdapterStatus, Failure, Registration

_MESSAGE: Final = 300
"""Characters of a message: the status of many adapters must stay small."""


@dataclass(slots=True)
class Entry:
    """`commit` is what the source led to, empty until it is known and for sources without commits. `serving` is the
    folder from which the engine answers for the name, maybe with the weights of an earlier entry; `coming` the one that
    was obtained for this entry and is not served from yet. `dropped` tells threads that it is not wanted any more."""

    wanted: Registration
    state: AdapterState = AdapterState.REGISTERING
    failure: Failure | None = None
    commit: str = ""
    serving: Path | None = None
    coming: Path | None = None
    dropped: threading.Event = field(default_factory=threading.Event)
    task: "asyncio.Task[None] | None" = None

    def is_of(self, wanted: Registration) -> bool:
        """Whether this is asked for by what is there or on its way: a commit that others were told of is no news to the
        pod that found it out."""
        if (self.wanted.entry, self.wanted.credentials) != (wanted.entry, wanted.credentials):
            return False
        return wanted.commit in ("", self.wanted.commit, self.commit)

    @property
    def folders(self) -> set[Path]:
        """Those that must stay."""
        return {folder for folder in (self.serving, self.coming) if folder is not None}

    @property
    def had_no_room(self) -> bool:
        """It may have room now, as others have gone."""
        return self.failure is not None and self.failure.reason == "AdapterNoCapacity"

    @property
    def status(self) -> AdapterStatus:
        """The commit only of what is served; while another one is on its way, the one that was asked for."""
        commit = self.commit if self.state is AdapterState.REGISTERED else self.wanted.commit
        return AdapterStatus(self.wanted.name, self.wanted.uri, self.wanted.revision, self.state, self.failure, commit)

    def fail(self, found: Failure) -> str:
        """Take the failure, which then names the adapter; returns its words, at their whole length."""
        wanted = self.wanted
        shown = f"{wanted.uri} at {wanted.revision}" if wanted.revision else wanted.uri
        words = f"Adapter {wanted.name} ({shown}): {found.message}"
        if self.serving is not None:
            words += "; until the pod restarts, the earlier weights are served under its name"
        bounded = words if len(words) <= _MESSAGE else words[: _MESSAGE - 1] + "…"
        self.state, self.failure = AdapterState.FAILED, replace(found, message=bounded)
        return words

    def cancel(self) -> None:
        """End what is under way for it."""
        self.dropped.set()
        if self.task is not None:
            self.task.cancel()
