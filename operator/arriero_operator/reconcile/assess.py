"""The situation of a model after its children were applied: what the conditions are decided from."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from arriero_api.contract import Failure
from arriero_operator.cache.store import Cache
from arriero_operator.decide import adapters, registered
from arriero_operator.decide.conditions import SCHEDULING
from arriero_operator.decide.situation import NameState, Situation
from arriero_operator.diagnose.model import model_failure
from arriero_operator.diagnose.stage import stage
from arriero_operator.observing.observe import deployment_of
from arriero_operator.pods import facts
from arriero_operator.pods.facts import PodFacts
from arriero_operator.rounds.round import NamesFile, Round


def assess(cache: Cache, now: Round) -> Situation:
    """The situation of the round's model."""
    observed, applied = now.observed, now.applied
    # Pods of a deleted model of this name are about to go: none of them counts.
    pods = [pod for pod in observed.pods if pod.deleting or not now.outcome.leaving]
    failure = model_failure(pods, applied, now.replicas, deployment_of(cache, observed))
    if failure is not None and failure.reason in SCHEDULING and now.method.expected:
        failure = None
    if failure is not None and now.hold is not None:
        words = f"{failure.message}; the next pod is made at {facts.timestamp(now.hold.until)}"
        failure = replace(failure, message=words)
    failure = _without_return(now, failure or now.overdue)
    return Situation(
        generation=observed.model["metadata"]["generation"],
        replicas=observed.spec.replicas,
        wanted=now.wanted,
        applied=applied,
        stage=stage(pods, applied),
        pods=pods,
        names=_names(now, pods),
        refused=now.outcome.refused,
        failure=failure,
        hindered=now.outcome.hindered,
        rolled_back=now.plan.rejection.failure if now.plan.rejection is not None else None,
        mismatch=_mismatch(pods, now.registrations.get(applied)),
        outdated=now.plan.outdated,
        stale=now.plan.stale,
        missing=now.plan.missing,
        paused=observed.spec.paused,
        turnover=(now.method.reason, now.method.message),
    )


def _without_return(now: Round, failure: Failure | None) -> Failure | None:
    """The failure; that there is no going back for it, where no record of the last good revision is left."""
    good = now.observed.last_good or now.wanted
    if failure is None or good == now.wanted or now.plan.good is not None or not now.observed.spec.rollout.rollback:
        return failure
    return replace(failure, message=f"{failure.message}; no going back to revision {good}: its record is gone")


def _names(now: Round, pods: Sequence[PodFacts]) -> list[NameState]:
    before = now.observed.before.get("names") or ()
    if now.plan.refused is not None and not now.plan.held:
        return registered.refused_states(now.plan.names, now.plan.lost, before, now.moment)
    wanted = now.plan.names
    if now.plan.held:
        wanted = (*now.served, *(one for one in wanted if one.name in now.plan.lost))
    ready = [pod for pod in pods if pod.live and pod.ready]
    proven = sum(pod.uid in now.proven for pod in ready)
    files = {revision: one.content for revision, one in now.registrations.items()}
    states = adapters.states(now.served, ready, adapters.trusted(now.observed.before, now.observed.model), files)
    found = registered.name_states(wanted, now.plan.lost, before, len(ready), proven, now.moment, states)
    return registered.unreached(found, now.unreachable)


def _mismatch(pods: Iterable[PodFacts], file: NamesFile | None) -> str:
    """Ready pods of the revision that serve another commit than the pinned one, in words."""
    pinned = file.content.commit if file is not None else ""
    if file is None or not pinned:
        return ""
    other = sorted(
        pod.name
        for pod in pods
        if pod.ready and pod.revision == file.revision and pod.status and pod.status.commit not in ("", pinned)
    )
    return f"The revision is pinned to commit {pinned}, but another is served by: {', '.join(other)}." if other else ""
