"""What a pod asks for, by resource."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from arriero_operator import quantity


def held(spec: Mapping[str, Any]) -> dict[str, Decimal]:
    """What the scheduler counts for the pod; the API server has filled in requests for limits.

    Containers and sidecars together, or an init container with the sidecars before it where that is more; what is said
    of the pod as a whole stands instead.
    """
    together: dict[str, Decimal] = {}
    peaks: list[dict[str, Decimal]] = []
    for one in spec.get("initContainers") or ():
        peaks.append(_sum(together, _requests(one)))
        if one.get("restartPolicy") == "Always":
            together = peaks[-1]
    for one in spec.get("containers") or ():
        together = _sum(together, _requests(one))
    for peak in peaks:
        together |= {name: amount for name, amount in peak.items() if amount > together.get(name, 0)}
    return together | _requests(spec)


def _sum(one: Mapping[str, Decimal], other: Mapping[str, Decimal]) -> dict[str, Decimal]:
    return {**one, **{name: one.get(name, Decimal(0)) + amount for name, amount in other.items()}}


def _requests(of: Mapping[str, Any]) -> dict[str, Decimal]:
    requests = (of.get("resources") or {}).get("requests") or {}
    return {name: quantity.parse(str(amount)) for name, amount in requests.items()}
