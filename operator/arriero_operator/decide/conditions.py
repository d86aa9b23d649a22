"""The conditions of an InferenceModel: each a small function from the situation to a verdict.

kstatus reads them: `Reconciling` and `Stalled` exist only while they are true and never together, `Ready` sums up.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from arriero_api import labels
from arriero_api.contract import Failure
from arriero_api.reasons import REASONS
from arriero_operator.decide.situation import NameState, Situation
from arriero_operator.diagnose.failures import MESSAGE_LIMIT, bounded, failure, known, sentence

SCHEDULING: Final = (
    "Unschedulable",
    "AcceleratorsUnavailable",
    "AcceleratorsNeverFit",
    "QuotaExceeded",
    "VolumeMountFailed",
    "ChildRefused",
    "ChildDenied",
)
"""Reasons of failures that concern a pod's place."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One condition without its times; `status` is "True" or "False"."""

    type: str
    status: str
    reason: str
    message: str


def conditions(s: Situation) -> list[Verdict]:
    """All conditions of the situation, in a stable order."""
    found = _paused(s, _enforced(s, [decide(s) for decide in _CONDITIONS]))
    return [*found, *_abnormal(s, found[-1])]


def _accepted(s: Situation) -> Verdict:
    return _fault("Accepted", s.refused) if s.refused else _state("Accepted", True, "Accepted")


def _scheduled(s: Situation) -> Verdict:
    if s.refused and not s.live:
        return _fault("Scheduled", s.refused)
    if s.failure and s.failure.reason in SCHEDULING and s.unplaced:
        return _fault("Scheduled", s.failure)
    if s.hindered and s.replicas and not s.live:
        return _fault("Scheduled", s.hindered)
    if s.replicas == 0:
        return _state("Scheduled", True, "ScaledToZero")
    if s.unplaced:
        return _state("Scheduled", False, "Scheduling")
    return _state("Scheduled", True, "Scheduled")


def _engine_ready(s: Situation) -> Verdict:
    if s.refused and not s.live:
        return _fault("EngineReady", s.refused)
    if s.failure:
        return _fault("EngineReady", s.failure)
    if s.hindered and s.replicas and not s.live:
        return _fault("EngineReady", s.hindered)
    if s.replicas == 0:
        return _state("EngineReady", True, "ScaledToZero")
    if s.ready_applied < s.replicas:
        return _state("EngineReady", False, s.stage.phase)
    return _state("EngineReady", True, "EngineReady")


def _names_registered(s: Situation) -> Verdict:
    if s.refused:
        return _fault("NamesRegistered", s.refused)
    if withheld := _named(s.names, "Conflict"):
        return _withheld("NamesRegistered", withheld)
    if s.replicas == 0:
        return _state("NamesRegistered", True, "ScaledToZero")
    if not s.ready:
        return _state("NamesRegistered", False, "NoReadyReplica")
    if failed := _named(s.names, "Failed"):
        return Verdict("NamesRegistered", "False", failed[0].reason, bounded(" ".join(one.message for one in failed)))
    # A name that leaves is accepted for a while on purpose: all that is asked for is served meanwhile.
    leaving = [name for name in _named(s.names, "Unregistering") if not name.until]
    if pending := [*_named(s.names, "Registering"), *leaving]:
        if waiting := [one for one in pending if one.reason == "AdapterNeedsRollout"]:
            said = " ".join(one.message for one in waiting)
            return Verdict("NamesRegistered", "False", "AdapterNeedsRollout", bounded(said))
        words = f"On the way to the pods: {', '.join(name.name for name in pending)}."
        return Verdict("NamesRegistered", "False", "Registering", bounded(words))
    return _state("NamesRegistered", True, "Registered")


def _available(s: Situation) -> Verdict:
    if s.ready:
        return _state("Available", True, "Available")
    return _state("Available", False, "ScaledToZero" if s.replicas == 0 and not s.refused else "NoReadyReplica")


def _up_to_date(s: Situation) -> Verdict:
    if s.refused:
        return _fault("UpToDate", s.refused)
    if s.rolled_back:
        return Verdict("UpToDate", "False", "RolledBack", _given_up(s.rolled_back, s))
    if s.old and s.hindered:
        return _fault("UpToDate", s.hindered)
    if s.old or s.turnover[0]:
        words = f"{s.old} of {len(s.live)} pods are of an older revision."
        return Verdict("UpToDate", "False", s.turnover[0] or "RollingOut", s.turnover[1] or words)
    if s.missing:
        return _fault("UpToDate", failure("ReferenceDeleted", s.missing))
    if s.stale:
        return _fault("UpToDate", failure("InputsChanged", s.stale))
    if s.outdated:
        return _fault("UpToDate", failure("RuntimeOutdated", s.outdated))
    return _state("UpToDate", True, "UpToDate")


def _ready(s: Situation) -> Verdict:
    """What stands in the way, in the order in which a user would mend it."""
    if s.refused:
        return _fault("Ready", s.refused)
    if s.rolled_back:
        return Verdict("Ready", "False", s.rolled_back.reason, _given_up(s.rolled_back, s))
    if fault := s.failure or s.hindered:
        return _fault("Ready", fault)
    if withheld := _named(s.names, "Conflict"):
        return _withheld("Ready", withheld)
    if s.replicas == 0:
        return _state("Ready", True, "ScaledToZero")
    if s.turnover[0]:
        return Verdict("Ready", "False", *s.turnover)
    if s.old:
        return _state("Ready", False, "RollingOut")
    if s.ready_updated < s.replicas:
        return _state("Ready", False, s.stage.phase)
    if s.mismatch:
        return Verdict("Ready", "False", "CommitMismatch", bounded(f"{s.mismatch} {REASONS['CommitMismatch'].remedy}"))
    names = _names_registered(s)
    return _state("Ready", True, "Ready") if names.status == "True" else replace(names, type="Ready")


_CONDITIONS: Final[tuple[Callable[[Situation], Verdict], ...]] = (
    _accepted,
    _scheduled,
    _engine_ready,
    _names_registered,
    _available,
    _up_to_date,
    _ready,
)


def _abnormal(s: Situation, ready: Verdict) -> list[Verdict]:
    """Stalled when only a change from outside helps, else Reconciling; nothing for a model that is Ready."""
    if ready.status == "True":
        return []
    stuck = known(ready.reason).permanent or ready.reason == "NoProgress"
    kind = "Stalled" if s.paused or s.rolled_back or stuck else "Reconciling"
    return [replace(ready, type=kind, status="True")]


def _paused(s: Situation, found: list[Verdict]) -> list[Verdict]:
    """While nothing is changed, `Ready` says so first, and what would be under way is not."""
    return [_paused_one(one) for one in found] if s.paused else found


def _paused_one(one: Verdict) -> Verdict:
    meaning = REASONS["Paused"].meaning
    if one.type == "Ready":
        words = meaning if one.status == "True" else f"{meaning} Else: {one.reason}: {one.message}"
        return replace(one, reason="Paused", message=bounded(words))
    under_way = one.status == "False" and not known(one.reason).remedy and one.type != "Available"
    return replace(one, reason="Paused", message=meaning) if under_way else one


def _enforced(s: Situation, found: list[Verdict]) -> list[Verdict]:
    """Whatever was decided above: a model without a ready replica is not Available, nor Ready unless it wants none."""
    if s.ready:
        return found
    never = {"Available"} if s.replicas == 0 else {"Available", "Ready"}
    return [
        replace(one, status="False", reason="NoReadyReplica", message=REASONS["NoReadyReplica"].meaning)
        if one.type in never and one.status == "True"
        else one
        for one in found
    ]


def _given_up(why: Failure, s: Situation) -> str:
    """Why the wanted revision was given up, and what stands until somebody mends it."""
    then = f"Revision {s.wanted} was given up for {s.applied}; a new value of annotation {labels.RETRY} tries it again."
    return f"{bounded(sentence(why), MESSAGE_LIMIT - len(then) - 1)} {then}"


def _state(kind: str, status: bool, reason: str) -> Verdict:
    return Verdict(kind, str(status), reason, REASONS[reason].meaning)


def _fault(kind: str, found: Failure) -> Verdict:
    return Verdict(kind, "False", found.reason, sentence(found))


def _named(names: Sequence[NameState], state: str) -> list[NameState]:
    return [name for name in names if name.state == state]


def _withheld(kind: str, withheld: Sequence[NameState]) -> Verdict:
    """Only somebody can solve a conflict, but a name that another model is giving up comes by itself."""
    reason = "NameHandover" if all(name.passing for name in withheld) else "NameConflict"
    said = " ".join(name.message for name in withheld)
    return Verdict(kind, "False", reason, bounded(f"{said} {REASONS[reason].remedy}".rstrip()))
