"""How pods of an older revision are replaced: surge first, and replace where the surge cannot have room.

What is decided is kept on the Deployment for as long as the rollout lasts; nothing else is stored.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final

from arriero_api import labels
from arriero_operator.decide.nudge import nudged
from arriero_operator.decide.turnover import Choice, Turnover, kept
from arriero_operator.diagnose.failures import bounded
from arriero_operator.diagnose.model import pod_failure
from arriero_operator.pods import facts
from arriero_operator.pods.facts import PodFacts

SURGE: Final[Mapping[str, Any]] = {"maxSurge": 1, "maxUnavailable": 0}
AT_ONCE: Final[Mapping[str, Any]] = {"maxSurge": 1, "maxUnavailable": "100%"}
"""For old pods of which none serves nor ever did: nobody loses anything, and they may hold what the new ones need."""
SETTLED: Final = 20.0
"""Seconds after the last pod has gone in which the scheduler has tried again for sure: its own back-off ends at 10."""


@dataclass(frozen=True, slots=True)
class Method:
    """How the Deployment replaces pods: `rolling` is its rollingUpdate, `annotations` what is kept on it.

    `reason` and `message` tell of it where there is something to tell; `look_after` is when to decide anew (seconds).
    """

    rolling: Mapping[str, Any]
    annotations: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    message: str = ""
    look_after: float | None = None
    expected: bool = False
    """That a new pod has no room yet is part of it, and no failure."""


def method(t: Turnover) -> Method:
    """The method of the rollout as it stands."""
    if t.complete:
        return Method(SURGE)
    found = _chosen(t)
    nudge, due = nudged(t)
    waits = [wait for wait in (found.look_after, due, t.overdue_in) if wait is not None]
    annotations = {**found.annotations, labels.NUDGE: nudge} if nudge else found.annotations
    return replace(found, annotations=annotations, look_after=min(waits, default=None))


def _chosen(t: Turnover) -> Method:
    if t.old and all(pod.revision != t.good for pod in t.old) and not any(_serves(pod) for pod in t.live):
        return Method(AT_ONCE)
    if t.rollout.strategy == "Surge":
        return Method(SURGE)
    if (before := kept(t)) is not None:
        return _replacing(t, Choice(_raised(t, _lowered(t, before)), before.placed))
    if not t.under_way:
        return Method(SURGE)
    if t.rollout.strategy == "Replace" or t.exclusive:
        return _replacing(t, Choice(_missing(t), t.placed))
    return _surging(t)


def _surging(t: Turnover) -> Method:
    """Surge, as long as that is not known to be of no use for long enough."""
    found = t.blocked()
    if found is None:
        return Method(SURGE)
    since, words, nominated = found
    if t.terminating:
        said = _waiting(words, "a pod that is being stopped may make room")
        return Method(SURGE, {}, "SurgeWaiting", said, expected=True)
    if _awaited(t):
        said = _waiting(words, "an old pod is taken down for it at the earliest when the one that starts is ready")
        return Method(SURGE, {}, "SurgeWaiting", said, expected=True)
    wait = t.rollout.surge_wait_max_seconds if nominated else t.rollout.surge_wait_seconds
    until = since + timedelta(seconds=wait)
    if t.moment >= until:
        return _replacing(t, Choice(_missing(t), t.placed))
    said = _waiting(words, f"an old pod is taken down for it at {facts.timestamp(until)}")
    return Method(SURGE, {}, "SurgeWaiting", said, (until - t.moment).total_seconds(), expected=True)


def _replacing(t: Turnover, choice: Choice) -> Method:
    """Take old pods down first."""
    settled = not t.terminating and t.settled >= SETTLED
    waiting = len(t.new) < t.replicas or not all(pod.scheduled for pod in t.new)
    look_after = SETTLED - t.settled if waiting and not settled and not t.terminating else None
    chosen = "spec.rollout.strategy is Replace" if t.rollout.strategy == "Replace" else ""
    why = chosen or t.exclusive or "there is no room for a new one beside them"
    return Method(
        rolling=SURGE if _ends_service(t, choice) else {"maxSurge": 0, "maxUnavailable": choice.missing},
        annotations={labels.REPLACING: f"{t.applied}.{choice.missing}.{choice.placed}"},
        reason="Replacing" if t.old or t.terminating or (waiting and not settled) else "",
        message=bounded(f"Old pods are taken down before new ones start: {why}."),
        look_after=look_after,
        expected=not settled,
    )


def _missing(t: Turnover) -> int:
    """The fewest that must be allowed to be missing for Kubernetes to take one old pod down that has a place.

    It takes those without a place first, which make no room.
    """
    return max(1, 1 + t.replicas - t.placed - sum(pod.ready for pod in t.new))


def _lowered(t: Turnover, before: Choice) -> int:
    """Fewer, where a scale-down meanwhile has left fewer pods that could be missing."""
    return min(before.missing, max(1, 1 + t.replicas - before.placed))


def _ends_service(t: Turnover, choice: Choice) -> bool:
    """Whether Kubernetes might take the last serving pod down while a new one has its place already and only starts.

    Not where the new one could not start beside it, or where the user wants to replace.
    """
    if t.exclusive or t.rollout.strategy == "Replace" or choice.missing < t.replicas:
        return False
    return t.starting and any(_serves(pod) for pod in t.old) and not any(pod.ready for pod in t.new)


def _raised(t: Turnover, missing: int) -> int:
    """More, where a scale-up meanwhile has left no old pod that may be taken down.

    Not where one has left and still no new pod has a place: then a further one would be lost for nothing. Nor while a
    new pod starts: until it is ready an old one may be the last that serves.
    """
    if _awaited(t):
        return missing
    stuck = bool(t.old) and not t.terminating and t.settled >= SETTLED and t.blocked() is not None
    useful = any(pod.scheduled for pod in t.new) or not t.made_room
    return max(missing, _missing(t)) if stuck and useful else missing


def _waiting(cause: str, then: str) -> str:
    return bounded(f"The new pod waits for what an old one holds; {then}. {' '.join(cause.split())}")


def _awaited(t: Turnover) -> bool:
    """Whether a new pod that has its place only has to start, while others serve: those are not touched before."""
    return t.starting and any(_serves(pod) for pod in t.live)


def _serves(pod: PodFacts) -> bool:
    """Ready, or not ready for a moment only: it has served since its start, and nothing is known to be wrong."""
    return pod.ready or (pod.was_ready_since_start and pod_failure(pod) is None)
