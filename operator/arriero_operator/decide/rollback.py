"""When a new revision has failed for good, so that the last good one is to come back."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from arriero_api.contract import Failure
from arriero_operator.decide.failed import REPEATED, failed
from arriero_operator.decide.rollout import SETTLED
from arriero_operator.decide.turnover import Turnover
from arriero_operator.diagnose import scheduling
from arriero_operator.diagnose.failures import failure, known
from arriero_operator.pods.facts import PodFacts

TRUSTED_STARTS = 3
"""A container that has started more often shows no progress by starting or loading once more."""

_SILENT = "its runtime never answered on its port for the status, so that twice the deadline was given"


def verdict(t: Turnover, found: Failure | None) -> Failure | None:
    """Why the revision `t.applied` is given up; None as long as it is not. `found` is what is wrong with it now."""
    if t.complete:
        return None
    if found is not None and known(found.reason).permanent and found.reason != "ChildRefused":
        return found
    if found is not None and (_without_place(t) or _ends_each(t, found)):
        return found
    late = overdue(t)
    return (found or late) if late is not None else None


def overdue(t: Turnover) -> Failure | None:
    """That the revision `t.applied` has made no progress for too long; None as long as it is not."""
    until = deadline(t)
    if until is None or t.moment < until or _scaled_beyond_room(t):
        return None
    words = f"no progress for {_patience(t).total_seconds():.0f} s"
    return failure("NoProgress", f"{words}; {_SILENT}" if _silent(t) else words)


def deadline(t: Turnover) -> datetime | None:
    """When the revision is given up unless it makes progress before; None while that cannot be said."""
    if t.complete or t.terminating:
        return None
    signs = [sign for pod in t.new for sign in _signs(pod)]
    refused = scheduling.refused_pod(t.deployment)
    if not signs and refused is not None and (since := t.since(refused)):
        signs = [since]
    return max(signs) + _patience(t) if signs else None


def _patience(t: Turnover) -> timedelta:
    """For how long there may be no sign of progress; twice as long where a pod may make progress that nobody sees."""
    return timedelta(seconds=t.rollout.progress_deadline_seconds * (2 if _silent(t) else 1))


def _silent(t: Turnover) -> bool:
    """Whether a new pod runs, never answered, and nothing else speaks for or against it."""
    return any(
        pod.running_since is not None and not pod.ready and pod.status is None and pod.restarts < TRUSTED_STARTS
        for pod in t.new
    )


def _without_place(t: Turnover) -> bool:
    """An old pod has left for the new ones, and still none of those has a place."""
    waited = t.made_room and not t.terminating and t.settled >= SETTLED
    return waited and not any(pod.scheduled for pod in t.new)


def _ends_each(t: Turnover, found: Failure) -> bool:
    """Nodes end or refuse one pod after the other; each new one would count as progress."""
    return found.reason in ("Evicted", "PodRejected") and len(failed(t.pods, t.applied)) >= REPEATED


def _scaled_beyond_room(t: Turnover) -> bool:
    """New pods serve, and all that is missing is a place for more of them: going back would not help."""
    return any(pod.ready for pod in t.new) and all(pod.ready or not pod.scheduled for pod in t.new)


def _signs(pod: PodFacts) -> Iterable[datetime]:
    """When the pod came further."""
    yield pod.created
    found = [pod.scheduled_at, pod.ready_changed]
    if pod.restarts < TRUSTED_STARTS:
        found += [pod.running_since, pod.progressed]
    yield from (sign for sign in found if sign is not None)
