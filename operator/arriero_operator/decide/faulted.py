"""The status of a model that the operator cannot work on, from the one that stands. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from arriero_api.contract import Failure
from arriero_api.reasons import REASONS
from arriero_operator.decide.conditions import Verdict
from arriero_operator.decide.status import Json, timed
from arriero_operator.diagnose.failures import known, sentence

_UNDER_WAY: Final = ("Reconciling", "Stalled")


def faulted(before: Mapping[str, Any], why: Failure, *, serves: bool, generation: int, now: str) -> Json:
    """What is known of it stays as it stands; `Ready` says why nothing is done, `Available` whether pods serve.

    A failure that no retry can mend is one of the spec: it is not `Accepted` then. `now` is the time for conditions
    that flip.
    """
    permanent = known(why.reason).permanent
    told = [_false("Accepted", why)] if permanent else []
    available = "Available" if serves else "NoReadyReplica"
    told += [Verdict("Available", str(serves), available, REASONS[available].meaning), _false("Ready", why)]
    told += [Verdict("Stalled" if permanent else "Reconciling", "True", why.reason, sentence(why))]
    said = {*_UNDER_WAY, *(one.type for one in told)}
    stands = before.get("conditions") or ()
    kept = [one for one in stands if one["type"] not in said]
    found = {key: value for key, value in before.items() if key != "progress"}
    return found | {"observedGeneration": generation, "conditions": [*kept, *timed(told, stands, generation, now)]}


def _false(kind: str, why: Failure) -> Verdict:
    return Verdict(kind, "False", why.reason, sentence(why))
