"""What operator and runtime say to each other, as plain dataclasses (standard library only).

Four documents, each JSON with a `schemaVersion`:

* `Registrations`: operator to runtime, the file registrations.json. What may change without a restart.
* `RuntimeStatus`: runtime to operator, GET /status on the control port.
* `Failure`: runtime to operator, the container's termination message, and part of the status.
* `Shutdown`: runtime to operator, the termination message of a container that was stopped as asked.

Readers accept unknown keys (a newer writer) and raise `ContractError` for a document they cannot use.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final

SCHEMA_VERSION: Final = 1
_DETAIL_BYTES: Final = 200
"""Of one detail, where a failure must be cut."""


class ContractError(ValueError):
    """A document of the other side cannot be used; the text says which field and why."""


class Phase(StrEnum):
    """Life cycle of the engine in one pod."""

    EMPTY = "Empty"
    RESOLVING = "Resolving"
    DOWNLOADING = "Downloading"
    LOADING = "Loading"
    WARMING = "Warming"
    READY = "Ready"
    DRAINING = "Draining"
    FAILED = "Failed"


class NameKind(StrEnum):
    """What a served name stands for."""

    MODEL = "Model"
    ALIAS = "Alias"
    ADAPTER = "Adapter"


class AdapterState(StrEnum):
    """How far one adapter has come in one pod. Registered and Failed are final until its entry changes, but for
    failures that a retry may mend."""

    REGISTERING = "Registering"
    REGISTERED = "Registered"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class Registration:
    """One name that clients may call. The rest is of adapters: where one comes from, the commit that every pod is to
    serve once the first one has resolved it, and the Secret that the source is asked with."""

    name: str
    kind: NameKind
    uri: str = ""
    revision: str = ""
    commit: str = ""
    credentials: str = ""

    @property
    def entry(self) -> tuple[str, str, str]:
        """What tells one adapter of a name from another: a commit is found out, and a Secret is not what is served."""
        return self.name, self.uri, self.revision


@dataclass(frozen=True, slots=True)
class Registrations:
    """The names that a revision's pods serve, adapters among them, and the commit that they serve.

    `commit` is the hub commit that the first pod of the revision resolved; empty until one has reported it. In the
    text adapters stand apart from the other names, and only where there are any: a reader that does not know them
    serves the others.
    """

    names: tuple[Registration, ...]
    commit: str = ""

    @property
    def adapters(self) -> tuple[Registration, ...]:
        """The names that are adapters, in their order."""
        return tuple(one for one in self.names if one.kind is NameKind.ADAPTER)

    def to_json(self) -> str:
        """The canonical text: equal registrations give equal bytes."""
        body: dict[str, Any] = {
            "schemaVersion": SCHEMA_VERSION,
            "names": [{"name": n.name, "kind": n.kind.value} for n in self.names if n.kind is not NameKind.ADAPTER],
            "commit": self.commit,
        }
        if self.adapters:
            body["adapters"] = [_adapter(one) for one in self.adapters]
        return json.dumps(body, indent=1, ensure_ascii=False)

    @property
    def hash(self) -> str:
        """16 hex digits that stand for the canonical text."""
        return registrations_hash(self.to_json())

    @classmethod
    def from_json(cls, text: str) -> "Registrations":
        """Raises ContractError."""
        body = _object(text, "registrations")
        names = body.get("names")
        if not isinstance(names, list) or not names:
            raise ContractError("registrations: names must be a list with at least one name")
        try:
            parsed = tuple(Registration(str(n["name"]), NameKind(n["kind"])) for n in names)
        except (KeyError, TypeError, ValueError) as error:
            raise ContractError(f"registrations: names: {error}") from error
        return cls(names=(*parsed, *_adapters(body)), commit=str(body.get("commit", "")))


def registrations_hash(text: str) -> str:
    """Hash of the file's text as it stands on disk: what /status reports and the pod's annotation carries."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a model does not serve and what to do about it.

    `reason` is a name of `arriero_api.reasons`; `details` holds short facts, such as the largest context that fits.
    """

    reason: str
    message: str
    remedy: str
    phase: Phase = Phase.FAILED
    details: Mapping[str, str | int] = field(default_factory=dict)

    def to_json(self, limit: int | None = None) -> str:
        """One line of JSON of at most `limit` bytes (1024 or more): each long detail is cut, then the message, then
        the remedy; where that is not enough, all details go instead. Never the reason."""
        body = {
            "schemaVersion": SCHEMA_VERSION,
            **asdict(self),
            "phase": self.phase.value,
            "details": dict(self.details),
        }
        if limit is None or _size(body) <= limit:
            return json.dumps(body, ensure_ascii=False)
        for details in ({key: _at_most(value) for key, value in self.details.items()}, {}):
            body |= {"message": self.message, "remedy": self.remedy, "details": details}
            for key in ("message", "remedy"):
                if (surplus := _size(body) - limit) > 0:
                    body[key] = _cut(str(body[key]), surplus)
            if _size(body) <= limit:
                break
        return json.dumps(body, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Failure":
        """Raises ContractError for text that is not a failure of a known schema version."""
        return cls.from_dict(_object(text, "failure"))

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> "Failure":
        """Raises ContractError."""
        try:
            return cls(
                reason=str(body["reason"]),
                message=str(body["message"]),
                remedy=str(body.get("remedy", "")),
                phase=Phase(body.get("phase", Phase.FAILED)),
                details=dict(body.get("details") or {}),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ContractError(f"failure: {error}") from error


@dataclass(frozen=True, slots=True)
class Shutdown:
    """A stop that was asked for: so many requests ended by themselves since then, so many were cut off."""

    completed: int = 0
    aborted: int = 0

    def __add__(self, other: "Shutdown") -> "Shutdown":
        return Shutdown(self.completed + other.completed, self.aborted + other.aborted)

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps({"schemaVersion": SCHEMA_VERSION, "shutdown": asdict(self)})

    @classmethod
    def from_json(cls, text: str) -> "Shutdown":
        """Raises ContractError for text that is not a shutdown of a known schema version."""
        body = _object(text, "shutdown")
        try:
            return cls(int(body["shutdown"]["completed"]), int(body["shutdown"]["aborted"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ContractError(f"shutdown: {error!r}") from error


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
        body = _object(text, "status")
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
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ContractError(f"status: {error}") from error


def _object(text: str, what: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except ValueError as error:
        raise ContractError(f"{what}: not JSON: {error}") from error
    if not isinstance(body, dict):
        raise ContractError(f"{what}: must be a JSON object")
    version = body.get("schemaVersion")
    if version != SCHEMA_VERSION:
        raise ContractError(f"{what}: schemaVersion {version!r} is not one of: {SCHEMA_VERSION}")
    return body


def _adapters(body: Mapping[str, Any]) -> tuple[Registration, ...]:
    try:
        return tuple(
            Registration(
                str(one["name"]),
                NameKind.ADAPTER,
                str(one["uri"]),
                str(one.get("revision", "")),
                str(one.get("commit", "")),
                str(one.get("credentials", "")),
            )
            for one in body.get("adapters") or ()
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ContractError(f"registrations: adapters: {error!r}") from error


def _adapter(one: Registration) -> dict[str, str]:
    """As it stands in the text; what an older reader does not know only where there is something to say."""
    body = {"name": one.name, "uri": one.uri, "revision": one.revision}
    return body | {key: value for key, value in (("commit", one.commit), ("credentials", one.credentials)) if value}


def _size(body: Mapping[str, Any]) -> int:
    """Bytes as JSON."""
    return len(json.dumps(body, ensure_ascii=False).encode())


def _at_most(detail: str | int) -> str | int:
    """A detail of at most `_DETAIL_BYTES` as JSON."""
    if isinstance(detail, int):
        return detail
    surplus = len(json.dumps(detail, ensure_ascii=False).encode()) - _DETAIL_BYTES
    return _cut(detail, surplus) if surplus > 0 else detail


def _cut(text: str, surplus: int) -> str:
    """`text` shorter by at least `surplus` bytes as JSON, ending in an ellipsis where something is left."""
    keep = max(0, len(json.dumps(text, ensure_ascii=False).encode()) - 2 - surplus - 3)
    cut = text[:keep]
    while cut and len(json.dumps(cut, ensure_ascii=False).encode()) - 2 > keep:
        cut = cut[:-1]
    return cut + "…" if cut else ""
