"""Rollouts under way: how pods are replaced, and since when none is terminating, which the cluster does not tell."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from arriero_api import labels
from arriero_operator.cache.store import Cache
from arriero_operator.decide import rollback, rollout
from arriero_operator.decide.plan import retry_of
from arriero_operator.decide.references import one_node
from arriero_operator.decide.turnover import Turnover
from arriero_operator.diagnose.model import model_failure
from arriero_operator.observing.live_pods import LivePods
from arriero_operator.observing.observe import deployment_of
from arriero_operator.revisions.records import Rejection, Revision
from arriero_operator.rounds.round import Round
from arriero_operator.work.keys import Key

ClaimModes = Callable[[str, str], Awaitable[Sequence[str] | None]]
"""Access modes of the claim in that namespace of that name; None where it is not there."""


class Rollouts:
    """Decides how pods are replaced."""

    def __init__(
        self, cache: Cache, claim_modes: ClaimModes, live: LivePods, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._cache = cache
        self._live = live
        self._claim_modes = claim_modes
        self._clock = clock
        self._settled: dict[Key, float] = {}
        self._exclusive: dict[Key, tuple[str, str]] = {}
        self._begun: dict[Key, tuple[str, datetime]] = {}

    async def decide(self, now: Round, moment: datetime) -> bool:
        """Put the method of replacement into the round; True: its plan or its pods are others now. Raises KubeError.

        What takes pods down that serve, or gives a revision up, is decided by pods as they are.
        """
        if now.plan.applied is None:
            return False
        plan = now.plan
        given_up = await self._decide(now, moment)
        if not (given_up or self._takes_down(now)) or not await self._live.look(now):
            return given_up
        now.plan, now.overdue = plan, None
        await self._decide(now, moment)
        return True

    def _takes_down(self, now: Round) -> bool:
        """Whether Kubernetes is to be allowed to take old pods down of which it was not before."""
        live = deployment_of(self._cache, now.observed)
        if live is None or now.method.rolling == rollout.SURGE:
            return False
        return bool(live["spec"]["strategy"].get("rollingUpdate") != now.method.rolling)

    async def _decide(self, now: Round, moment: datetime) -> bool:
        """By the pods of the round. True: the plan is now to go back."""
        assert now.plan.applied is not None
        turnover = self._turnover(now, now.plan.applied.hash, moment)
        limit, given_up = None, False
        if now.plan.rejection is None:
            can_go_back = now.plan.good is not None and turnover.rollout.rollback
            if given_up := can_go_back and self._given_up(now, turnover):
                turnover = self._turnover(now, now.applied, moment)
            else:
                # Where there is nothing to go back to, what runs goes on, but is not waited for without a word.
                limit, now.overdue = rollback.deadline(turnover), rollback.overdue(turnover)
        if turnover.rollout.strategy == "Auto" and (turnover.under_way or labels.REPLACING in turnover.annotations):
            turnover = replace(turnover, exclusive=await self._claims(now.key, now.plan.applied))
        now.method = rollout.method(turnover)
        if limit is not None and limit > moment:
            due = (limit - moment).total_seconds()
            sooner = now.method.look_after
            now.method = replace(now.method, look_after=due if sooner is None else min(due, sooner))
        return given_up

    def forget(self, key: Key) -> None:
        """The model is gone."""
        self._settled.pop(key, None)
        self._exclusive.pop(key, None)
        self._begun.pop(key, None)

    def _given_up(self, now: Round, turnover: Turnover) -> bool:
        """Whether the wanted revision is given up now; then the plan is another."""
        found = model_failure(turnover.pods, turnover.applied, turnover.replicas, turnover.deployment)
        why = rollback.verdict(turnover, found)
        if why is None:
            return False
        now.plan = now.plan.rejecting(Rejection(why, retry_of(now.observed.model)))
        return True

    def _turnover(self, now: Round, applied: str, moment: datetime) -> Turnover:
        observed = now.observed
        found = Turnover(
            applied=applied,
            replicas=now.replicas,
            rollout=observed.spec.rollout,
            pods=observed.pods,
            deployment=deployment_of(self._cache, observed),
            moment=moment,
            good=observed.last_good,
            begun=self._first(now.key, applied, moment),
        )
        return replace(found, settled=self._since(now.key, found))

    def _first(self, key: Key, applied: str, moment: datetime) -> datetime:
        """When the revision was first to be applied; anew each time that it follows another."""
        known, since = self._begun.get(key, ("", moment))
        if known != applied:
            self._begun[key], since = (applied, moment), moment
        return since

    def _since(self, key: Key, found: Turnover) -> float:
        """Seconds for which no pod has been terminating while a rollout is not complete."""
        if found.complete or found.terminating:
            self._settled.pop(key, None)
            return 0.0
        return self._clock() - self._settled.setdefault(key, self._clock())

    async def _claims(self, key: Key, revision: Revision) -> str:
        """Which claim of the revision only one pod or node may mount, in words; looked up once for a revision."""
        known, words = self._exclusive.get(key, ("", ""))
        if known == revision.hash:
            return words
        words, absent = "", False
        for name in claims_of(revision.template):
            modes = await self._claim_modes(key[0], name)
            if modes is None:
                absent = True  # what the scheduler says of it is told
            elif one_node(modes):
                words = f"the claim {name!r} may be mounted by one pod or node only ({', '.join(sorted(modes))})"
        if not absent:
            self._exclusive[key] = (revision.hash, words)
        return words


def claims_of(template: Mapping[str, Any]) -> list[str]:
    """Names of the PersistentVolumeClaims that a pod template mounts."""
    found = (volume.get("persistentVolumeClaim") for volume in template["spec"].get("volumes") or ())
    return [str(one["claimName"]) for one in found if one]
