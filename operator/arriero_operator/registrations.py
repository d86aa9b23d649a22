"""Live registrations: the file of names reaches every pod, and each pod proves that it serves by it.

The ConfigMap of the revision is written; then its hash goes onto an annotation of every pod that is older than the
change, upon which the kubelet refreshes the volume at once. A pod proves it by the hash in its /status, which is
another for each change, also for one that brings back what was there before; a younger one by being ready: it started
with the file. A name that is not wanted any more stays in the file until clients have had
the time to learn that from the status (`decide.registered`).
"""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Final

from arriero_api import labels
from arriero_api.contract import ContractError, Registration, Registrations
from arriero_operator import facts, revisions
from arriero_operator.cache import Cache
from arriero_operator.decide import pins, registered
from arriero_operator.decide.registered import Room
from arriero_operator.facts import PodFacts
from arriero_operator.keys import Key
from arriero_operator.kube.errors import Conflict, NotFound
from arriero_operator.kube.protocol import CONFIG_MAPS, PODS, REVISIONS, Kube
from arriero_operator.observe import Observed
from arriero_operator.render import children, names
from arriero_operator.render.children import CHANGED
from arriero_operator.rounds import Round, Wanted
from arriero_operator.runtime_status import RuntimeStatuses

_AT_ONCE: Final = 16
CLOCKS: Final = timedelta(seconds=30)
"""By how much the clocks of the operator and of the API server may differ. A pod is wrongly taken for older at most:
it is asked once more than needed."""


class LiveRegistrations:
    """Writes of registrations, and what pods have proven so far, by model."""

    def __init__(self, kube: Kube, cache: Cache) -> None:
        self._kube = kube
        self._cache = cache
        self._proven: dict[Key, dict[str, str]] = {}
        self._looked: set[Key] = set()

    def look(self, now: Round) -> None:
        """Put into the round what the applied revision and every one with pods is to serve, and who has proven it."""
        revision, observed = now.plan.applied, now.observed
        if revision is None:
            return
        now.served = self._served(now)
        hashes = {revision.hash, *(pod.revision for pod in observed.pods if pod.revision)}
        now.registrations = {one: self.wanted(now, one) for one in sorted(hashes)}
        said = registered.announced(observed.before.get("names") or (), now.moment)
        if now.key not in self._looked:
            self._looked.add(now.key)
            if said == {one.name for one in now.registrations[revision.hash].content.names}:
                self._trust(now)
        now.proven = {
            pod.uid
            for pod in observed.pods
            if pod.ready and pod.revision in now.registrations
            if self.proven(now.key, pod, now.registrations[pod.revision])
        }

    def wanted(self, now: Round, revision: str) -> Wanted:
        """What the revision's file is to say: the names, and the commit that its first pod resolved."""
        observed = now.observed
        name = names.revisioned(observed.owner.name, revision)
        stored = self._cache.get(CONFIG_MAPS, observed.owner.namespace, name)
        text = children.stored_registrations(stored)
        said = _stored(text)
        before = observed.before.get("names") or ()
        room = self._room(now, revision)
        served = registered.served(self._served(now), self._said(observed), before, now.moment, room)
        served = pins.pinned(served, self._files(observed), observed.pods)
        commit = (said.commit if said else "") or _reported_commit(observed.pods, revision)
        content = Registrations(served, commit, said.sequence if said else 0)
        if text != content.to_json():
            content = replace(content, sequence=_next(said, stored is not None, now, revision))
        if stored is None:
            return Wanted(revision, content, made="", changed="", fresh=True)
        made, marks = stored["metadata"]["creationTimestamp"], stored["metadata"].get("annotations") or {}
        if text == content.to_json():
            return Wanted(revision, content, made, marks.get(CHANGED, ""), fresh=False)
        return Wanted(revision, content, made, facts.timestamp(now.moment), fresh=True, before=said)

    def _served(self, now: Round) -> tuple[Registration, ...]:
        """The names that pods are to serve, but for those that leave."""
        if not now.plan.held:
            return now.plan.served
        before = now.observed.before.get("names") or ()
        return registered.kept(now.plan.names, now.plan.lost, self._said(now.observed), before)

    def _room(self, now: Round, revision: str) -> Room:
        """What pods of the revision were made for."""
        planned = now.plan.applied
        if planned is not None and planned.hash == revision:
            return revisions.room(planned.record)
        name = names.revisioned(now.observed.owner.name, revision)
        return revisions.room(self._cache.get(REVISIONS, now.key[0], name))

    def _said(self, observed: Observed) -> Iterable[Registration]:
        """Everything that the files of the model's revisions say now, by name."""
        return {one.name: one for file in self._files(observed) for one in file.names}.values()

    def _files(self, observed: Observed) -> list[Registrations]:
        """The files of the model's revisions as they are now."""
        files = self._cache.children(CONFIG_MAPS, observed.key[0], observed.stem)
        read = (_stored(children.stored_registrations(file)) for file in files)
        return [file for file in read if file is not None]

    async def tell(self, key: Key, pods: Iterable[PodFacts], wanted: Wanted) -> None:
        """Put the hash onto every pod of the revision that may not have seen the file and does not carry it.

        Raises KubeError once all have been tried.
        """
        known, digest = self._proven.get(key, {}), wanted.content.hash
        slots = asyncio.Semaphore(_AT_ONCE)
        answers = await asyncio.gather(
            *(
                self._annotate(key[0], pod, digest, slots)
                for pod in pods
                if pod.live and pod.revision == wanted.revision and pod.registrations != digest
                if older(pod, wanted) or known.get(pod.uid, digest) != digest
            ),
            return_exceptions=True,
        )
        if failed := next((one for one in answers if one is not None), None):
            raise failed

    def proven(self, key: Key, pod: PodFacts, wanted: Wanted) -> bool:
        """Whether the ready pod is known to serve by the file."""
        known = self._proven.setdefault(key, {})
        if pod.status is not None and pod.status.registrations:
            known[pod.uid] = pod.status.registrations
        if wanted.fresh and wanted.changed:
            return False
        if pod.uid in known:
            return known[pod.uid] == wanted.content.hash
        return pod.ready and not older(pod, wanted)

    def doubt(self, now: Round, statuses: RuntimeStatuses) -> bool:
        """Before a file is changed: what its pods have proven and answered so far says nothing of what it becomes.

        They may have served something else meanwhile, and what they said before that must not be taken for an answer
        when the file comes back to it. True: the pods of the round are to be looked at again.
        """
        known = self._proven.get(now.key, {})
        doubted = {}
        for pod in now.observed.pods:
            wanted = now.registrations.get(pod.revision)
            if wanted is not None and wanted.fresh and wanted.changed:
                known.pop(pod.uid, None)
                doubted[pod.uid] = wanted.lasting
        return statuses.doubt(now.key, doubted)

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
        if not kept:
            self._looked.discard(key)
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
    """Whether the pod may have been there before the registrations became what they are.

    Times are whole seconds. A revision's pods are made after its ConfigMap, and the API server's clock says when both
    were; but a change is dated by the operator's own clock.
    """
    made, changed = facts.time(wanted.made), facts.time(wanted.changed)
    if changed is not None:
        return pod.created <= changed + CLOCKS
    return made is None or pod.created < made


def _next(said: Registrations | None, there: bool, now: Round, revision: str) -> int:
    """The number of the next change of a revision's file, of which no earlier one had it.

    Where a file that pods have read is not there any more, or cannot be read, nobody knows its number: seconds are
    larger than any count.
    """
    if said is not None:
        return said.sequence + 1
    read = there or any(pod.revision == revision for pod in now.observed.pods)
    return int(now.moment.timestamp()) if read else 0


def _stored(text: str) -> Registrations | None:
    try:
        return Registrations.from_json(text) if text else None
    except ContractError:
        return None  # edited by hand: put right, the commit is reported anew


def _reported_commit(pods: Iterable[PodFacts], revision: str) -> str:
    """Of the oldest pod that knows it; ready ones first."""
    found = [pod for pod in pods if pod.live and pod.revision == revision and pod.status and pod.status.commit]
    found.sort(key=lambda pod: (not pod.ready, pod.created, pod.name))
    return found[0].status.commit if found and found[0].status else ""
