"""Whether an event tells anything that is left to be acted on.

A Deployment counts its pods in steps of which most are of no use, and a status that was written comes back.
"""

from collections.abc import Mapping
from typing import Any, Final

from arriero_operator.decide.report import same
from arriero_operator.kube.protocol import DEPLOYMENTS, Kind, Object
from arriero_operator.recent import Recent

_COUNTS: Final = ("observedGeneration", "replicas", "updatedReplicas", "terminatingReplicas")
_CONDITION: Final = "ReplicaFailure"
"""What `decide.turnover` and `diagnose.scheduling` read of a Deployment's status."""
_EXPECTED: Final = 1_024
"""How many models are remembered until the event of what was written comes, which takes moments."""


def tells(kind: Kind, before: Object | None, now: Object) -> bool:
    """False where all that is read of the object is as it was `before`.

    An event of the version that was known before does tell: that may be known by the answer to a write, which wakes
    nobody.
    """
    if kind is not DEPLOYMENTS or before is None:
        return True
    if before["metadata"]["resourceVersion"] == now["metadata"]["resourceVersion"]:
        return True
    return _read(before) != _read(now)


def _read(deployment: Mapping[str, Any]) -> tuple[Object, Object, list[Any], list[Object]]:
    status = deployment.get("status") or {}
    refused = [one for one in status.get("conditions") or () if one["type"] == _CONDITION]
    return _metadata(deployment), deployment["spec"], [status.get(key) for key in _COUNTS], refused


class Expected:
    """What models look like once the status that is written now comes back as an event: those that rest by it.

    Put in before the write, as the event may come before the answer. All but the version is compared, as the cache
    keeps it: an event that also tells of somebody else's change does not look as expected.
    """

    def __init__(self) -> None:
        self._models: Recent[str, Object] = Recent(_EXPECTED)

    def put(self, model: Object) -> None:
        """It is about to look so."""
        self._models.put(model["metadata"]["uid"], model)

    def drop(self, uid: str) -> None:
        """What was expected is not any more."""
        self._models.drop(uid)

    def came(self, seen: Object) -> bool:
        """Whether the model looks as expected; it is not expected any more then."""
        uid = seen["metadata"]["uid"]
        expected = self._models.get(uid)
        if expected is None or _metadata(expected) != _metadata(seen):
            return False
        if not same(expected["status"], seen.get("status") or {}):
            return False
        self._models.drop(uid)
        return True


def _metadata(obj: Mapping[str, Any]) -> Object:
    """But for the version; of the spec it has the generation."""
    return {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
