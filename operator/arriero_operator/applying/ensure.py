"""All children of a model, in the order in which they need each other, and the removal of what is not needed."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from arriero_api import labels
from arriero_operator.applying.access import Access
from arriero_operator.applying.apply import Applier
from arriero_operator.applying.lost_revisions import LostRevisions
from arriero_operator.applying.obstacles import Obstacles
from arriero_operator.applying.parts import Part
from arriero_operator.applying.problems import ChildProblem, Leaving
from arriero_operator.cache.store import Cache
from arriero_operator.configuration.settings import Settings
from arriero_operator.decide import failed, sparing
from arriero_operator.kube.errors import Conflict, KubeError, NotFound
from arriero_operator.kube.protocol import (
    BUDGETS,
    CLAIMS,
    CONFIG_MAPS,
    DEPLOYMENTS,
    PODS,
    REVISIONS,
    Kind,
    Kube,
    Object,
)
from arriero_operator.pods.facts import pod_facts
from arriero_operator.registrations.files import NamesFiles
from arriero_operator.render import children, names
from arriero_operator.render.claim import cache_claim
from arriero_operator.revisions import records
from arriero_operator.revisions.records import Revision
from arriero_operator.rounds.observed import Observed
from arriero_operator.rounds.round import Outcome, Round
from arriero_operator.work.keys import Key

_LEAVING: Final = 0.5
_BUDGET_FROM: Final = 2
"""Replicas."""
_LEAVING_LONGEST: Final = 15.0
"""Seconds between looks at what is still on its way out; longer each time, as a finalizer of others may hold it."""


class Children:
    """Brings the children of models into their wanted state."""

    def __init__(self, kube: Kube, cache: Cache, registrations: NamesFiles, settings: Settings) -> None:
        self._kube = kube
        self._cache = cache
        self._registrations = registrations
        self._applier = Applier(kube, cache)
        self._access = Access(self._applier, cache, settings)
        self._lost = LostRevisions(kube, cache, self._applier)
        self._waited: dict[Key, float] = {}

    async def regain(self, observed: Observed) -> None:
        """Store a revision again that was lost, before anything is planned. Raises KubeError."""
        await self._lost.regain(observed)

    async def ensure(self, now: Round) -> Outcome:
        """Create, adopt or put right all children. What the API server would not do is told, and in `now.error` where
        all of it is to be tried again."""
        if now.plan.revision is None or now.plan.applied is None:
            return Outcome(now.plan.refused)
        found = Obstacles()
        try:
            await self._all(now, now.plan.revision, now.plan.applied, found)
        except (ChildProblem, KubeError) as problem:
            found.note(problem)
        except Leaving as leaving:
            hindered = found.hindered or leaving.held
            return Outcome(now.plan.refused, self._wait(now.key), leaving=leaving.namesake, hindered=hindered)
        now.error = now.error or found.error
        if found.leaving:
            found.again(self._wait(now.key))
        else:
            self._waited.pop(now.key, None)
        return found.outcome(now.plan.refused)

    async def renew(self, now: Round) -> bool:
        """Remove the wanted revision where it is to be rendered anew; True: the plan is another now.

        That none of its pods has served is looked up live.
        """
        if now.plan.inputs is None or now.plan.rejection is not None:
            return False  # what was given up is tried again when the user says so
        served = (now.observed.serving, now.observed.last_good)
        stored = self._cache.children(REVISIONS, now.key[0], now.observed.stem)
        found = records.stillborn(now.plan.inputs, stored, now.observed.pods, served)
        if found is None or not now.observed.owner.owns(found):
            return False
        live = await self._kube.list(PODS, now.key[0], _selector(now, now.plan.inputs.hash))
        if records.stillborn(now.plan.inputs, stored, map(pod_facts, live), served) is None:
            return False
        await self._applier.remove(REVISIONS, found)
        return True

    async def tidy(self, now: Round) -> None:
        """Remove failed pods and revisions that nothing needs; that those have no pods is looked up live."""
        if now.plan.revision is None:
            return
        for pod in failed.surplus(now.observed.pods, now.applied, now.replicas):
            await self._kube.delete(PODS, now.key[0], pod.name, uid=pod.uid)
        keep = (now.plan.revision.hash, now.observed.serving, now.observed.last_good)
        for kind in (REVISIONS, CONFIG_MAPS):
            stored = self._cache.children(kind, now.key[0], now.observed.stem)
            for obj in records.surplus(stored, now.observed.pods, keep):
                if now.observed.owner.owns(obj) and not await self._has_pods(now, names.revision_of(obj)):
                    await self._applier.remove(kind, obj)

    def forget(self, key: Key) -> None:
        """The model is gone."""
        self._applier.forget(*key)
        self._lost.forget(key)
        self._waited.pop(key, None)

    def _wait(self, key: Key) -> float:
        """Seconds until the next look at what is on its way out."""
        wait = self._waited.get(key, _LEAVING)
        self._waited[key] = min(_LEAVING_LONGEST, wait * 1.5)
        return wait

    async def _all(self, now: Round, revision: Revision, applied: Revision, found: Obstacles) -> None:
        """The Service is first, as its name is the one that somebody else may have: then nothing else is made. Where
        there is a Deployment, it does not wait for what stands beside it, nor its replicas for anything; a first one
        waits for its NetworkPolicy too."""
        first = self._cache.get(DEPLOYMENTS, now.key[0], now.observed.stem) is None
        await found.beside(self._access.service(now), vital=first)
        await found.beside(self._access.policy(now), vital=first)
        whole = await found.beside(self._claim(now), vital=first)
        whole &= await self._files(now, revision, found, vital=first)
        for file in now.registrations.values():
            await found.beside(self._registrations.tell(now.key, now.observed.pods, file))
        await found.beside(self._budget(now))
        await self._deployment(now, applied, found, whole=whole and found.refused is None and self._begun(now, applied))

    def _begun(self, now: Round, applied: Revision) -> bool:
        """Whether pods may be brought to the revision: of a spec that is not acted on nothing begins, also not what the
        spec before it has asked for and was waiting for."""
        if not now.plan.held or now.plan.rejection is not None:
            return True
        live = self._cache.get(DEPLOYMENTS, now.key[0], now.observed.stem)
        if live is not None:
            return names.revision_of(live["spec"]["template"]) == applied.hash
        served = (now.observed.serving, now.observed.last_good)
        return applied.hash in served or any(pod.revision == applied.hash for pod in now.observed.pods)

    async def _files(self, now: Round, revision: Revision, found: Obstacles, *, vital: bool) -> bool:
        """The record of the revision, and the names of every revision that has pods: before any pod that needs them.

        Whether all is there that pods of the revision need.
        """
        whole = await found.beside(self._one(now, REVISIONS, revision.record), vital=vital)
        for file in now.registrations.values():
            step = self._one(now, CONFIG_MAPS, file.intent(now.observed.owner))
            whole &= await found.beside(step, vital=vital) or file.revision != revision.hash
        return whole

    async def _deployment(self, now: Round, revision: Revision, found: Obstacles, *, whole: bool) -> None:
        """Where its template is refused, or what is to be there before (not `whole`), the number of pods is right."""
        owner, replicas = now.observed.owner, now.replicas
        if now.hold is not None:
            replicas = now.hold.replicas
        rolling = now.method.rolling
        scale = Part(labels.MANAGER, children.deployment_scale(owner, replicas, rolling, now.method.annotations))
        template = Part(
            labels.TEMPLATE_MANAGER,
            children.deployment_template(owner, revision.template, revision.inputs),
            opening=children.deployment_whole(owner, replicas, rolling, revision.template, revision.inputs),
        )
        # A new template must not begin to roll by another strategy, nor more replicas start with the old template.
        live = self._cache.get(DEPLOYMENTS, owner.namespace, now.observed.stem)
        same = live is not None and live["spec"]["strategy"].get("rollingUpdate") == rolling
        await found.beside(self._spare(now, live))
        if whole or (live is None and not now.plan.held):
            try:
                await self._applier.ensure(owner, DEPLOYMENTS, [template, scale] if same else [scale, template])
                return
            except ChildProblem as problem:
                found.note(problem)
        if live is not None:
            await self._applier.ensure(owner, DEPLOYMENTS, [scale])

    async def _spare(self, now: Round, live: Mapping[str, Any] | None) -> None:
        """Before fewer pods are asked for: tell Kubernetes which of those that load have come furthest."""
        deployed = 0 if live is None else int(live["spec"].get("replicas", 1))
        for pod, cost in sparing.costs(now.observed.pods, deployed, now.replicas):
            patch = {"metadata": {"uid": pod.uid, "annotations": {sparing.COST: str(cost)}}}
            with suppress(NotFound, Conflict):  # gone by now, and maybe replaced
                await self._kube.merge_patch(PODS, now.key[0], pod.name, patch)

    async def _claim(self, now: Round) -> None:
        """For the cache, where the spec asks for one. One that it does not ask for any more may hold what others need:
        it stays until the model goes. A spec that is not acted on gets none."""
        wanted = now.observed.spec.cache.claim_template if now.observed.spec.cache else None
        if wanted is not None and not now.plan.held:
            await self._one(now, CLAIMS, cache_claim(now.observed.owner, wanted))

    async def _budget(self, now: Round) -> None:
        """From two replicas on: the only replica's budget would allow its eviction anyway."""
        if now.replicas >= _BUDGET_FROM:
            await self._one(now, BUDGETS, children.disruption_budget(now.observed.owner))
            return
        stored = self._cache.get(BUDGETS, now.key[0], now.observed.stem)
        if stored is not None and now.observed.owner.owns(stored):
            await self._applier.remove(BUDGETS, stored)

    async def _one(self, now: Round, kind: Kind, intent: Object) -> None:
        await self._applier.ensure(now.observed.owner, kind, [Part(labels.MANAGER, intent)])

    async def _has_pods(self, now: Round, revision: str) -> bool:
        return bool(await self._kube.list(PODS, now.key[0], _selector(now, revision), metadata_only=True))


def _selector(now: Round, revision: str) -> str:
    """The selector of the revision's pods."""
    return f"{labels.MODEL}={now.observed.stem},{labels.REVISION}={revision}"
