"""The status of an InferenceModel is written when it says something new, and not for every percent of progress."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from arriero_api import labels
from arriero_operator.keys import Key
from arriero_operator.kube.errors import NotFound
from arriero_operator.kube.protocol import MODELS, Kube, Object

_STEPS: Final = {"Downloading": 15}
_STEP: Final = 25
_ALL: Final = 100
_PAUSE: Final = 2.0

Json = dict[str, Any]


class Reporter:
    """Writes statuses; remembers when it last wrote progress."""

    def __init__(self, kube: Kube, clock: Callable[[], float] = time.monotonic) -> None:
        self._kube = kube
        self._clock = clock
        self._wrote: dict[Key, float] = {}

    async def report(self, model: Object, status: Json) -> Json | None:
        """Write `status` where it differs from the one that stands; what was written, or None. Raises KubeError."""
        metadata = model["metadata"]
        key = (metadata["namespace"], metadata["name"])
        before = model.get("status") or {}
        status = calm(status, before, self._clock() - self._wrote.get(key, float("-inf")))
        if same(status, before):
            return None
        intent = {
            "apiVersion": labels.API_VERSION,
            "kind": labels.KIND,
            "metadata": {"name": key[1], "namespace": key[0], "uid": metadata["uid"]},
            "status": status,
        }
        try:
            await self._kube.apply(MODELS, intent, manager=labels.STATUS_MANAGER, subresource="status")
        except NotFound:
            return None  # deleted meanwhile: the event of that is on its way
        self._wrote[key] = self._clock()
        return status

    def forget(self, key: Key) -> None:
        """The model is gone."""
        self._wrote.pop(key, None)


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two statuses say the same: the API server may keep their lists in another order."""
    return _canonical(one) == _canonical(other)


def calm(status: Json, before: Mapping[str, Any], since: float) -> Json:
    """`status` with the progress that stands, unless it has come a good step further.

    That is another phase, or so many points of percent that a whole start stays below 20 writes; two progress
    writes lie at least two seconds apart (`since`: seconds since the last write). What else changes is written at once,
    with the newest progress.
    """
    new, old = status.get("progress"), before.get("progress")
    if new is None or old is None or new == old:
        return status
    kept = status | {"progress": old}
    if not same(kept, before) or new["phase"] != old["phase"]:
        return status
    further = _moved(new, old) >= _STEPS.get(new["phase"], _STEP)
    return status if further and since >= _PAUSE else kept


def _canonical(status: Mapping[str, Any]) -> Json:
    """The status with its lists by name."""
    keyed = {"names": "name", "conditions": "type"}
    lists = {field: {one[key]: one for one in status.get(field) or ()} for field, key in keyed.items()}
    return {**status, **lists}


def _moved(new: Mapping[str, Any], old: Mapping[str, Any]) -> int:
    """Points of percent; a first percent, and all that is said of the last one, count as a whole step."""
    if new.get("percent") is None:
        return 0
    if old.get("percent") is None or (new["percent"] == _ALL and new != old):
        return _ALL
    return abs(int(new["percent"]) - int(old["percent"]))
