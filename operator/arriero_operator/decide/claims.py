"""Which model a served name belongs to, where several of a namespace ask for it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from arriero_api.contract import NameKind, Registration
from arriero_api.types import Adapter, Spec


@dataclass(frozen=True, slots=True)
class Claim:
    """What one model asks for (`wanted`) and what it serves or is about to (`held`)."""

    model: str
    created: str
    wanted: frozenset[str]
    held: frozenset[str]


@dataclass(frozen=True, slots=True)
class Loss:
    """A name that is withheld: `model` has it. `passing`: that one does not ask for it any more and is giving it up."""

    model: str
    passing: bool = False

    def words(self, name: str) -> str:
        """A sentence for the user."""
        if self.passing:
            return f"{name!r} is still being taken off the model {self.model!r} of this namespace."
        return f"{name!r} is held by the model {self.model!r} of this namespace."


def wanted_names(model: str, spec: Spec) -> tuple[Registration, ...]:
    """The names that `spec` asks for: the model's own first, then the aliases, then the adapters, none twice."""
    own = spec.model.name or model
    aliases = dict.fromkeys(alias for alias in spec.model.aliases or () if alias != own)
    listed = (spec.lora.adapters or ()) if spec.lora else ()
    return (
        Registration(own, NameKind.MODEL),
        *(Registration(alias, NameKind.ALIAS) for alias in aliases),
        *(_adapter(one) for one in listed),
    )


def _adapter(one: Adapter) -> Registration:
    secret = one.credentials.secret_name if one.credentials else ""
    return Registration(one.name, NameKind.ADAPTER, one.uri, one.revision or "", credentials=secret)


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
    return Claim(metadata["name"], metadata.get("creationTimestamp", ""), wanted, held)


def conflicts(mine: Claim, others: Iterable[Claim]) -> dict[str, Loss]:
    """Names that `mine` wants and another model has a better right to, with that model.

    Whoever holds a name keeps it. Between models that both hold it or both do not, the older goes first, then the one
    whose name sorts first.
    """
    lost: dict[str, Loss] = {}
    for other in sorted(others, key=lambda one: (one.created, one.model)):
        for name in mine.wanted & (other.wanted | other.held):
            if name not in lost and _right(other, name) < _right(mine, name):
                lost[name] = Loss(other.model, passing=name not in other.wanted)
    return lost


def _right(one: Claim, name: str) -> tuple[bool, str, str]:
    """Smaller is better."""
    return (name not in one.held, one.created, one.model)
