"""Events of a model's life cycle: derived from what the status said before and says now, each once.

Their names follow from what they say and when it began, so that an operator that restarts in between repeats none.
"""

import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from arriero_api import labels
from arriero_api.reasons import REASONS
from arriero_operator.cache.last_words import Tally
from arriero_operator.diagnose.failures import bounded
from arriero_operator.kube.errors import AlreadyExists, KubeError
from arriero_operator.kube.protocol import EVENTS, Kube
from arriero_operator.render import names

_log = logging.getLogger(__name__)

NORMAL: Final = "Normal"
WARNING: Final = "Warning"
COMPONENT: Final = "arriero-operator"

REGISTERED: Final = "Registered"
UNREGISTERED: Final = "Unregistered"
ROLLOUT_STARTED: Final = "RolloutStarted"
ROLLED_BACK: Final = "RolledBack"
SHUTDOWN_STARTED: Final = "ShutdownStarted"
SHUTDOWN_COMPLETE: Final = "ShutdownComplete"

Status = Mapping[str, Any]
_NOTHING: Final = Tally()


@dataclass(frozen=True, slots=True)
class Event:
    """One Event; `occasion` tells one occurrence from the next of the same kind."""

    type: str
    reason: str
    message: str
    occasion: str


def derive(before: Status, after: Status, tally: Tally = _NOTHING, retry: str = "") -> list[Event]:
    """The Events that the step from one status to the next stands for; none while the model is paused. `tally` is of
    the pods that a model at zero had. What happens again after the user's word `retry` is another occurrence."""
    if _is_paused(after):
        return []
    found = [event for rule in _RULES for event in rule(before, after)]
    if retry:
        found = [replace(event, occasion=f"{event.occasion} {retry}") for event in found]
    return found + list(_scaled_down(before, after, tally))


def shutdown_started() -> Event:
    """A deleted model's pods have begun to drain."""
    return Event(NORMAL, SHUTDOWN_STARTED, "The model was deleted: its pods let their requests end.", "deleted")


def shutdown_complete(tally: Tally) -> Event:
    """A deleted model's pods are gone."""
    words = f"All pods of the deleted model have ended. {tally.sentence()}"
    return Event(NORMAL, SHUTDOWN_COMPLETE, words, "deleted")


async def emit(kube: Kube, model: Mapping[str, Any], events: Iterable[Event], now: str) -> None:
    """Create the Events. A lost Event is not worth a failed reconcile: it is logged."""
    for event in events:
        try:
            await kube.create(EVENTS, _object(model, event, now))
        except AlreadyExists:
            continue
        except KubeError as error:
            _log.warning("Event not written", extra={"reason": event.reason, "error": error.message})


def _registered(before: Status, after: Status) -> Iterable[Event]:
    if new := sorted(_names(after, "Registered") - _names(before, "Registered")):
        yield Event(NORMAL, REGISTERED, bounded(f"Served by all ready pods: {', '.join(new)}."), _generation(after))


def _unregistered(before: Status, after: Status) -> Iterable[Event]:
    known = _names(after)
    if gone := sorted((_names(before, "Unregistering") | _names(before, "Registered")) - known):
        yield Event(NORMAL, UNREGISTERED, bounded(f"Not served any more: {', '.join(gone)}."), _generation(after))


def _rollout(before: Status, after: Status) -> Iterable[Event]:
    new = (after.get("model") or {}).get("wanted")
    old = (before.get("model") or {}).get("serving" if _is_paused(before) else "wanted")
    if old and new and old != new:
        yield Event(NORMAL, ROLLOUT_STARTED, f"From revision {old} to {new}.", _generation(after))


def _rolled_back(before: Status, after: Status) -> Iterable[Event]:
    was, now = (_condition(status, "UpToDate") for status in (before, after))
    wanted = [(status.get("model") or {}).get("wanted") for status in (before, after)]
    if now.get("reason") == ROLLED_BACK and (was.get("reason") != ROLLED_BACK or wanted[0] != wanted[1]):
        good = (after.get("model") or {}).get("lastGood") or "the last good one"
        words = f"From revision {wanted[1]} back to {good}, because of {_ready(after).get('reason')}."
        yield Event(NORMAL, ROLLED_BACK, words, f"{wanted[1]} {_generation(after)}")


def _scaled_down(before: Status, after: Status, tally: Tally) -> Iterable[Event]:
    zero, was_zero = (_ready(status).get("reason") == "ScaledToZero" for status in (after, before))
    if zero and not was_zero and (before.get("replicas") or 0) > 0:
        words = "Scaled to zero: the pods let their requests end."
        yield Event(NORMAL, SHUTDOWN_STARTED, words, _generation(after))
    draining, drained = before.get("progress"), after.get("progress") is None and not after.get("replicas")
    if zero and drained and (draining or (not was_zero and (before.get("replicas") or 0) > 0)):
        words = f"Scaled to zero: all pods have ended. {tally.sentence()}"
        yield Event(NORMAL, SHUTDOWN_COMPLETE, words, _generation(after))


def _failed(before: Status, after: Status) -> Iterable[Event]:
    """One Warning for each distinct failure: when Ready begins to give its reason, or another spec fails otherwise."""
    ready, was = _ready(after), _ready(before)
    reason = ready.get("reason", "")
    if ready.get("status") == "True":
        return
    same = _generation(after) == _generation(before) or ready.get("message") == was.get("message")
    if reason == was.get("reason") and same:
        return
    if reason in REASONS and REASONS[reason].remedy:
        occasion = f"{_generation(after)} {ready['lastTransitionTime']}"
        yield Event(WARNING, reason, ready["message"], occasion)


_RULES: Final[tuple[Callable[[Status, Status], Iterable[Event]], ...]] = (
    _registered,
    _unregistered,
    _rollout,
    _rolled_back,
    _failed,
)


def _names(status: Status, state: str = "") -> set[str]:
    return {name["name"] for name in status.get("names") or () if state in ("", name["state"])}


def _ready(status: Status) -> Mapping[str, Any]:
    return _condition(status, "Ready")


def _is_paused(status: Status) -> bool:
    return _ready(status).get("reason") == "Paused"


def _condition(status: Status, kind: str) -> Mapping[str, Any]:
    return next((one for one in status.get("conditions") or () if one["type"] == kind), {})


def _generation(status: Status) -> str:
    ready = _ready(status)
    return f"{status.get('observedGeneration')} {ready.get('lastTransitionTime')}"


def _object(model: Mapping[str, Any], event: Event, now: str) -> dict[str, Any]:
    metadata = model["metadata"]
    said = f"{metadata['uid']} {event.type} {event.reason} {event.message} {event.occasion}"
    digest = hashlib.sha256(said.encode()).hexdigest()[:16]
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{names.stem(metadata['name'])}.{digest}", "namespace": metadata["namespace"]},
        "involvedObject": {
            "apiVersion": labels.API_VERSION,
            "kind": labels.KIND,
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
        },
        "type": event.type,
        "reason": event.reason,
        "message": event.message,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "reportingInstance": COMPONENT,
    }
