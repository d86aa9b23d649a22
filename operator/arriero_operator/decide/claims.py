"""Which model a served name belongs to, where several of a namespace ask for it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from arriero_api.contract import NameKind, Registration
from arriero_api.types import Spec


@dataclass(frozen=True, slots=True)
class Claim:
    """What one model asks for (`wanted`) and what it serves or is about to (`held`)."""

    model: str
    created: str
    wanted: frozenset[str]
    held: frozenset[str]


def wanted_names(model: str, spec: Spec) -> tuple[Registration, ...]:
    """The names that `spec` asks for: the model's own first, then the aliases, then the adapters, none twice."""
    own = spec.model.name or model
    aliases = dict.fromkeys(alias for alias in spec.model.aliases or () if alias != own)
    listed = (spec.lora.adapters or ()) if spec.lora else ()
    return (
        Registration(own, NameKind.MODEL),
        *(Registration(alias, NameKind.ALIAS) for alias in aliases),
        *(Registration(one.name, NameKind.ADAPTER, one.uri, one.revision or "") for one in listed),
    )


def claim(obj: Mapping[str, Any]) -> Claim | None:
    """The claim of an InferenceModel's JSON; None for one that is refused and holds nothing, or is going away."""
    metadata, model, status = obj["metadata"], obj["spec"]["model"], obj.get("status") or {}
    held = frozenset(name["name"] for name in status.get("names") or () if name["state"] != "Conflict")
    refused = any(c["type"] == "Accepted" and c["status"] == "False" for c in status.get("conditions") or ())
    if "deletionTimestamp" in metadata or (refused and not held):
        return None
    adapters = ((obj["spec"].get("lora") or {}).get("adapters")) or ()
    own = model.get("name") or metadata["name"]
    wanted = frozenset({own, *(model.get("aliases") or ()), *(one["name"] for one in adapters)})
    return Claim(metadata["name"], metadata["creationTimestamp"], wanted, held)


def conflicts(mine: Claim, others: Iterable[Claim]) -> dict[str, str]:
    """Names that `mine` wants and another model has a better right to, with that model's name.

    Whoever holds a name keeps it. Between models that both hold it or both do not, the older goes first, then the one
    whose name sorts first.
    """
    lost: dict[str, str] = {}
    for other in sorted(others, key=lambda one: (one.created, one.model)):
        for name in mine.wanted & (other.wanted | other.held):
            if name not in lost and _right(other, name) < _right(mine, name):
                lost[name] = other.model
    return lost


def _right(one: Claim, name: str) -> tuple[bool, str, str]:
    """Smaller is better."""
    return (name not in one.held, one.created, one.model)
