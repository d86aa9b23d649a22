"""Which runtimes are asked for their status, and how often. At rest nobody is."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from arriero_api.contract import AdapterState, Phase
from arriero_operator.decide import adapters
from arriero_operator.observing.runtime_status import PATIENCE, RuntimeStatuses
from arriero_operator.pods import facts
from arriero_operator.pods.facts import PodFacts
from arriero_operator.rounds.observed import Observed
from arriero_operator.rounds.round import Round

PROOF: Final = 0.2
"""Seconds between looks while a changed list of names is on its way; longer the longer that takes."""
_PATIENCE: Final = 20.0
_LONGEST: Final = 30.0
START: Final = 1.0
"""Seconds between looks while a pod starts; longer the longer that takes, up to FAILED."""
FAILED: Final = 10.0
"""Seconds between looks at a runtime that has said why it does not serve."""
_UNANSWERED: Final = 3
"""Questions, which takes some seconds."""

Question = tuple[PodFacts, float]
"""A pod to ask, and how old its last answer may be (seconds)."""


def questions(now: Round, statuses: RuntimeStatuses) -> list[Question]:
    """Whom to ask: pods that start, pods that have not proven their names, pods of which an adapter is under way or has
    failed, pods that have never told their commit."""
    found: list[Question] = []
    at_rest = _is_ready(now.observed)
    for pod in now.observed.pods:
        if not pod.live or not pod.ip or pod.running_since is None:
            continue
        if not pod.ready:
            said = pod.status is not None and pod.status.failure is not None
            found.append((pod, FAILED if said else _start(now, pod.running_since)))
        elif _unproven(now, pod):
            found.append((pod, proof(now, pod)))
        elif (found_out := _adapters(now, pod)) is not None:
            found.append((pod, found_out))
        elif _owes(pod, at_rest) and statuses.silent(now.key, pod) < PATIENCE:
            found.append((pod, START))
    return [(pod, max(interval, statuses.held(now.key, pod))) for pod, interval in found]


def unproven(now: Round) -> list[PodFacts]:
    """Ready pods that have not proven their names yet."""
    return [pod for pod in now.observed.pods if _unproven(now, pod)]


def proof(now: Round, pod: PodFacts) -> float:
    """Seconds until the next look at an unproven pod: a twentieth of what it has taken so far."""
    file = now.registrations[pod.revision]
    known = (facts.time(file.changed or file.made), pod.ready_changed)
    since = max((moment for moment in known if moment is not None), default=now.moment)
    return min(_LONGEST, max(PROOF, (now.moment - since).total_seconds() / _PATIENCE))


def unreachable(now: Round, statuses: RuntimeStatuses) -> tuple[str, ...]:
    """Pods that are to prove their names and leave questions unanswered."""
    return tuple(sorted(pod.name for pod in unproven(now) if statuses.silent(now.key, pod) >= _UNANSWERED))


def _adapters(now: Round, pod: PodFacts) -> float | None:
    """Seconds between looks at what the pod says of its adapters; None where nothing is to be learnt."""
    asked = now.registrations[pod.revision].content.adapters if pod.revision in now.registrations else ()
    trusted = adapters.trusted(now.observed.before, now.observed.model)
    states = {adapters.state_in(pod, one, trusted) for one in asked}
    if AdapterState.REGISTERING in states:
        return START
    return FAILED if AdapterState.FAILED in states else None


def _unproven(now: Round, pod: PodFacts) -> bool:
    return pod.ready and pod.revision in now.registrations and pod.uid not in now.proven


def _start(now: Round, since: datetime) -> float:
    """Seconds until the next look at a pod that starts: a twentieth of what it has taken so far."""
    return min(FAILED, max(START, (now.moment - since).total_seconds() / _PATIENCE))


def _owes(pod: PodFacts, at_rest: bool) -> bool:
    """Whether a ready pod has more to tell: what it last said is from its start, or it was never asked."""
    return not at_rest if pod.status is None else pod.status.phase is not Phase.READY


def _is_ready(observed: Observed) -> bool:
    conditions: Sequence[dict[str, str]] = observed.before.get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
