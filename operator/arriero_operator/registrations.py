"""Live registrations: the file of names reaches every pod, and each pod proves that it serves by it.

The ConfigMap of the revision is written; then its hash goes onto an annotation of every pod that is older than the
change, upon which the kubelet refreshes the volume at once. A pod proves it by the hash in its /status, a younger one
by being ready: it started with the file.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from arriero_api import labels
from arriero_api.contract import ContractError, NameKind, Registration, Registrations
from arriero_operator import facts, revisions
from arriero_operator.cache import Cache
from arriero_operator.facts import PodFacts
from arriero_operator.keys import Key
from arriero_operator.kube.errors import Conflict, NotFound
from arriero_operator.kube.protocol import CONFIG_MAPS, PODS, REVISIONS, Kube
from arriero_operator.render import children, names
from arriero_operator.render.children import CHANGED, Owner
from arriero_operator.rounds import Round, Wanted

_AT_ONCE: Final = 16
_REGISTERED: Final = "Registered"


class LiveRegistrations:
    """Writes of registrations, and what pods have proven so far, by model."""

    def __init__(self, kube: Kube, cache: Cache) -> None:
        self._kube = kube
        self._cache = cache
        self._proven: dict[Key, dict[str, str]] = {}

    def look(self, now: Round, moment: str) -> None:
        """Put into the round what the applied revision and every one with pods is to serve, and who has proven it."""
        revision, observed = now.plan.applied, now.observed
        if revision is None:
            return
        hashes = {revision.hash, *(pod.revision for pod in observed.pods if pod.revision)}
        now.registrations = {
            one: self.wanted(observed.owner, one, self._served(now, one), observed.pods, moment)
            for one in sorted(hashes)
        }
        said = {(name["name"], name["state"]) for name in observed.before.get("names") or ()}
        if said == {(one.name, _REGISTERED) for one in now.plan.served}:
            self._trust(now)
        now.proven = {
            pod.uid
            for pod in observed.pods
            if pod.ready and pod.revision in now.registrations
            if self.proven(now.key, pod, now.registrations[pod.revision])
        }

    def _served(self, now: Round, revision: str) -> tuple[Registration, ...]:
        """The names that pods of the revision are to serve: of the adapters as many as they have room for."""
        wanted = now.plan.revision
        if wanted is not None and wanted.hash == revision:
            return now.plan.served
        name = names.revisioned(now.observed.owner.name, revision)
        room = revisions.adapter_room(self._cache.get(REVISIONS, now.key[0], name))
        adapters = [one for one in now.plan.served if one.kind is NameKind.ADAPTER]
        return tuple(one for one in now.plan.served if one not in adapters[room:])

    def wanted(
        self, owner: Owner, revision: str, served: Sequence[Registration], pods: Iterable[PodFacts], now: str
    ) -> Wanted:
        """What the revision's file is to say: `served`, and the commit that its first pod resolved."""
        name = names.revisioned(owner.name, revision)
        stored = self._cache.get(CONFIG_MAPS, owner.namespace, name)
        text = children.stored_registrations(stored)
        content = Registrations(tuple(served), _stored_commit(text) or _reported_commit(pods, revision))
        if stored is not None and text == content.to_json():
            changed = (stored["metadata"].get("annotations") or {}).get(CHANGED, now)
            return Wanted(revision, content, changed, fresh=False)
        return Wanted(revision, content, now, fresh=True)

    async def tell(self, key: Key, pods: Iterable[PodFacts], wanted: Wanted) -> None:
        """Put the hash onto every pod of the revision that may not have seen the file and does not carry it."""
        known, digest = self._proven.get(key, {}), wanted.content.hash
        slots = asyncio.Semaphore(_AT_ONCE)
        await asyncio.gather(
            *(
                self._annotate(key[0], pod, digest, slots)
                for pod in pods
                if pod.live and pod.revision == wanted.revision and pod.registrations != digest
                if older(pod, wanted) or known.get(pod.uid, digest) != digest
            )
        )

    def proven(self, key: Key, pod: PodFacts, wanted: Wanted) -> bool:
        """Whether the ready pod is known to serve by the file."""
        known = self._proven.setdefault(key, {})
        if pod.status is not None and pod.status.registrations:
            known[pod.uid] = pod.status.registrations
        if pod.uid in known:
            return known[pod.uid] == wanted.content.hash
        return pod.ready and not older(pod, wanted)

    def _trust(self, now: Round) -> None:
        """After a restart of the operator: what the status says of unchanged names was proven before."""
        known = self._proven.setdefault(now.key, {})
        for pod in now.observed.pods:
            wanted = now.registrations.get(pod.revision)
            if pod.ready and wanted is not None and not wanted.fresh and pod.registrations == wanted.content.hash:
                known.setdefault(pod.uid, wanted.content.hash)

    def retain(self, key: Key, uids: Iterable[str]) -> None:
        """Forget pods of the model that are gone."""
        kept = set(uids)
        known = {uid: proof for uid, proof in self._proven.pop(key, {}).items() if uid in kept}
        if known:
            self._proven[key] = known

    async def _annotate(self, namespace: str, pod: PodFacts, digest: str, slots: asyncio.Semaphore) -> None:
        patch = {"metadata": {"uid": pod.uid, "annotations": {labels.REGISTRATIONS: digest}}}
        async with slots:
            try:
                await self._kube.merge_patch(PODS, namespace, pod.name, patch)
            except (NotFound, Conflict):
                return  # another pod by now: its own event leads to the next look


def older(pod: PodFacts, wanted: Wanted) -> bool:
    """Whether the pod was there before the registrations became what they are; creation times are whole seconds."""
    changed = facts.time(wanted.changed)
    return changed is not None and pod.created < changed


def _stored_commit(text: str) -> str:
    try:
        return Registrations.from_json(text).commit if text else ""
    except ContractError:
        return ""  # edited by hand: put right, the commit is reported anew


def _reported_commit(pods: Iterable[PodFacts], revision: str) -> str:
    """Of the oldest pod that knows it; ready ones first."""
    found = [pod for pod in pods if pod.live and pod.revision == revision and pod.status and pod.status.commit]
    found.sort(key=lambda pod: (not pod.ready, pod.created, pod.name))
    return found[0].status.commit if found and found[0].status else ""
