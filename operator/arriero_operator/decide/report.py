"""What is worth a report: a status that says something new, and not every percent of progress."""

from collections.abc import Mapping
from typing import Any, Final

_STEPS: Final = {"Downloading": 15}
_STEP: Final = 25
_ALL: Final = 100
_PAUSE: Final = 2.0

Json = dict[str, Any]


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two statuses say the same: the API server may keep their lists in another order."""
    return _canonical(one) == _canonical(other)


def steady(status: Json, before: Mapping[str, Any], since: float) -> Json:
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
