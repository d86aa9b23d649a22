"""Operator to runtime: the names that pods serve, which may change without a restart."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from arriero_api.contract.document import SCHEMA_VERSION, ContractError, parse


class NameKind(StrEnum):
    """What a served name stands for."""

    MODEL = "Model"
    ALIAS = "Alias"
    ADAPTER = "Adapter"


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

    `sequence` grows with each change of the file, so that no two of its contents have the same hash: a pod that
    reports one has applied that change, and not an earlier one with the same names. 0 before the first change, and of
    an operator that does not count; the runtime makes nothing of it, and an older one does not know it.
    """

    names: tuple[Registration, ...]
    commit: str = ""
    sequence: int = 0

    @property
    def adapters(self) -> tuple[Registration, ...]:
        """The names that are adapters, in their order."""
        return tuple(one for one in self.names if one.kind is NameKind.ADAPTER)

    def to_json(self) -> str:
        """The canonical text: equal registrations give equal bytes."""
        return _text(self)

    @property
    def hash(self) -> str:
        """16 hex digits that stand for the canonical text."""
        return registrations_hash(self.to_json())

    @classmethod
    def from_json(cls, text: str) -> "Registrations":
        """Raises ContractError."""
        body = parse(text, "registrations")
        names = body.get("names")
        if not isinstance(names, list) or not names:
            raise ContractError("registrations: names must be a list with at least one name")
        try:
            parsed = tuple(Registration(str(n["name"]), NameKind(n["kind"])) for n in names)
            sequence = int(body.get("sequence", 0))
        except (KeyError, TypeError, ValueError) as error:
            raise ContractError(f"registrations: names, sequence: {error}") from error
        return cls((*parsed, *_adapters(body)), str(body.get("commit", "")), sequence)


@lru_cache(1_024)
def _text(of: Registrations) -> str:
    """Asked for several times in each look at a model."""
    body: dict[str, Any] = {
        "schemaVersion": SCHEMA_VERSION,
        "names": [{"name": n.name, "kind": n.kind.value} for n in of.names if n.kind is not NameKind.ADAPTER],
        "commit": of.commit,
    }
    if of.adapters:
        body["adapters"] = [_adapter(one) for one in of.adapters]
    if of.sequence:
        body["sequence"] = of.sequence
    return json.dumps(body, indent=1, ensure_ascii=False)


def registrations_hash(text: str) -> str:
    """Hash of the file's text as it stands on disk: what /status reports and the pod's annotation carries."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


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
