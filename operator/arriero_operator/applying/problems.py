"""Why a child cannot be had: an object of its name is somebody else's, on its way out, or refused."""

from collections.abc import Mapping
from typing import Any, Final

from arriero_api.contract import Failure
from arriero_operator.diagnose.failures import failure
from arriero_operator.kube.protocol import SERVICES, Kind
from arriero_operator.render.owner import Owner

_SERVICE_NAME_TAKEN: Final = "Rename or delete that Service, or give the model's another name in spec.service.name."


class ChildProblem(Exception):
    """A child cannot be had; `failure` says why, `retry_after` (seconds) when to look again without being told."""

    def __init__(self, found: Failure, retry_after: float | None = None) -> None:
        super().__init__(found.message)
        self.failure = found
        self.retry_after = retry_after


class Leaving(Exception):
    """An object of this name is still on its way out; it is made anew once it has gone.

    `namesake`: it belongs to a deleted model of this name. `held` is what to tell: of a child of the model itself,
    beside which the others can be brought into their wanted state, and of a namesake's that a finalizer holds.
    """

    def __init__(self, words: str, *, namesake: bool = False, held: Failure | None = None) -> None:
        super().__init__(words)
        self.namesake = namesake
        self.held = held


def check(owner: Owner, kind: Kind, live: Mapping[str, Any]) -> None:
    """Raises ChildProblem for an object of somebody else, Leaving for one that is on its way out."""
    metadata = live["metadata"]
    if owner.follows(live):
        words = f"the {kind.kind} {metadata['name']!r} of a deleted model of this name"
        raise Leaving(words, namesake=True, held=_held(words, metadata) if metadata.get("finalizers") else None)
    if not owner.may_have(live):
        words = f"the {kind.kind} {metadata['name']!r} of this namespace exists and is not this model's"
        remedy = _SERVICE_NAME_TAKEN if kind is SERVICES else ""
        raise ChildProblem(failure("ChildNameTaken", words, remedy), 10.0)
    if "deletionTimestamp" in metadata:
        words = f"the {kind.kind} {metadata['name']!r}"
        raise Leaving(words, held=_held(words, metadata))


def _held(what: str, metadata: Mapping[str, Any]) -> Failure | None:
    """What to tell of an object that is being deleted; None of one that is not yet."""
    if "deletionTimestamp" not in metadata:
        return None
    holders = metadata.get("finalizers")
    words = f"{what} is being deleted"
    return failure("ChildLeaving", f"{words} and held by {', '.join(holders)}" if holders else words)
