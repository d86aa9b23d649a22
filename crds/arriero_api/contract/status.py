"""Runtime to operator: how one pod fares, the body of GET /status on the control port."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from arriero_api.contract.document import SCHEMA_VERSION, ContractError, parse
from arriero_api.contract.failure import Failure, Phase
from arriero_api.contract.registrations import Registration


class AdapterState(StrEnum):
    """How far one adapter has come in one pod. Registered and Failed are final until its entry changes, but for
    failures that a retry may mend."""

    REGISTERING = "Registering"
    REGISTERED = "Registered"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a start has come. `percent` is 0 to 100, of the current phase, or None where it cannot be known."""

    percent: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class AdapterStatus:
    """One adapter in one pod. `uri` and `revision` are those of the entry that the state is of; `failure` says why it
    is Failed, `commit` what the pod has resolved, empty for what has no commits and from an older runtime."""

    name: str
    uri: str
    revision: str
    state: AdapterState
    failure: Failure | None = None
    commit: str = ""

    def of(self, wanted: Registration) -> bool:
        """Whether it is about this entry, not an earlier one of the name, nor about another commit than wanted."""
        same = (self.name, self.uri, self.revision) == wanted.entry
        return same and (not wanted.commit or self.commit in ("", wanted.commit))

    def to_dict(self) -> dict[str, Any]:
        """As it stands in the status."""
        body: dict[str, Any] = {
            "name": self.name,
            "uri": self.uri,
            "revision": self.revision,
            "state": self.state.value,
        }
        body |= {"commit": self.commit} if self.commit else {}
        return body | ({"failure": json.loads(self.failure.to_json())} if self.failure else {})

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> "AdapterStatus":
        """Raises ContractError, KeyError, TypeError or ValueError."""
        failure = body.get("failure")
        found = Failure.from_dict(failure) if failure else None
        state = AdapterState(body["state"])
        commit = str(body.get("commit", ""))
        return cls(str(body["name"]), str(body["uri"]), str(body.get("revision", "")), state, found, commit)


@dataclass(frozen=True, slots=True)
class RuntimeStatus:
    """The body of GET /status.

    `commit` is the hub commit in use, empty for models that have none. `registrations` is the hash of the registrations
    file that has been applied, `names` the model's names served by it, `adapters` how far each of its adapters is.
    `effective` holds engine values in force, such as maxModelLen and dtype. `since_seconds` counts from the last
    sign of progress of the start.
    """

    phase: Phase
    progress: Progress = Progress()
    commit: str = ""
    registrations: str = ""
    names: tuple[str, ...] = ()
    adapters: tuple[AdapterStatus, ...] = ()
    effective: Mapping[str, str | int | bool] = field(default_factory=dict)
    requests_in_flight: int = 0
    since_seconds: int = 0
    failure: Failure | None = None

    def to_json(self) -> str:
        """One line of JSON."""
        body = {
            "schemaVersion": SCHEMA_VERSION,
            "phase": self.phase.value,
            "progress": asdict(self.progress),
            "commit": self.commit,
            "registrations": self.registrations,
            "names": list(self.names),
            "adapters": [one.to_dict() for one in self.adapters],
            "effective": dict(self.effective),
            "requestsInFlight": self.requests_in_flight,
            "sinceSeconds": self.since_seconds,
            "failure": json.loads(self.failure.to_json()) if self.failure else None,
        }
        return json.dumps(body, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "RuntimeStatus":
        """Raises ContractError."""
        body = parse(text, "status")
        try:
            progress = body.get("progress") or {}
            failure = body.get("failure")
            return cls(
                phase=Phase(body["phase"]),
                progress=Progress(progress.get("percent"), str(progress.get("message", ""))),
                commit=str(body.get("commit", "")),
                registrations=str(body.get("registrations", "")),
                names=tuple(str(n) for n in body.get("names", ())),
                adapters=tuple(AdapterStatus.from_dict(one) for one in body.get("adapters") or ()),
                effective=dict(body.get("effective") or {}),
                requests_in_flight=int(body.get("requestsInFlight", 0)),
                since_seconds=int(body.get("sinceSeconds", 0)),
                failure=Failure.from_dict(failure) if failure else None,
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ContractError(f"status: {error}") from error
