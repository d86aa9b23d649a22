"""Whether nothing is left to be done for a model once its status is written: its own event is not acted on then."""

from collections.abc import Mapping
from typing import Any, Final

from arriero_operator.decide.registered import REGISTERED
from arriero_operator.rounds.round import Round

_ALL_WELL: Final = ("Accepted", "Ready", "UpToDate", "NamesRegistered")


def rests(now: Round, status: Mapping[str, Any]) -> bool:
    """Whether the model of the round rests with this status.

    One with adapters, or one that waits for its turn, is looked at once more by what its status says.
    """
    if now.error or now.plan.waits or now.plan.outdated or now.observed.spec.lora or "progress" in status:
        return False
    conditions = {one["type"]: one["status"] for one in status["conditions"]}
    named = all(one["state"] == REGISTERED for one in status["names"])
    return named and all(conditions.get(kind) == "True" for kind in _ALL_WELL)
