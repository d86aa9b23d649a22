"""Names that change without a restart: their file is written, and reaches every pod.

The ConfigMap of the revision is written; then its hash goes onto an annotation of every pod that is older than the
change, upon which the kubelet refreshes the volume at once; what pods then prove is in `proofs`. A name that is not
wanted any more stays in the file until clients have had the time to learn that from the status (`decide.registered`).
"""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Final

from arriero_api import labels
from arriero_api.contract import ContractError, Registration, Registrations
from arriero_operator.cache.store import Cache
from arriero_operator.decide import pins, registered
from arriero_operator.kube.errors import Conflict, NotFound
from arriero_operator.kube.protocol import CONFIG_MAPS, PODS, REVISIONS, Kube
from arriero_operator.observing.runtime_status import RuntimeStatuses
from arriero_operator.pods import facts
from arriero_operator.pods.facts import PodFacts
from arriero_operator.registrations.proofs import Proofs, older
from arriero_operator.render import children, names
from arriero_operator.render.children import CHANGED
from arriero_operator.revisions.room import Room, room_of
from arriero_operator.rounds.observed import Observed
from arriero_operator.rounds.round import NamesFile, Round
from arriero_operator.work.keys import Key

_AT_ONCE: Final = 16


class NamesFiles:
    """What the files of names say, and that they reach the pods."""

    def __init__(self, kube: Kube, cache: Cache) -> None:
        self._kube = kube
        self._cache = cache
        self._proofs = Proofs()
        self._looked: set[Key] = set()

    def look(self, now: Round) -> None:
        """Put into the round what the applied revision and every one with pods is to serve, and who has proven it."""
        revision, observed = now.plan.applied, now.observed
        if revision is None:
            return
        now.served = self._served(now)
        hashes = {revision.hash, *(pod.revision for pod in observed.pods if pod.revision)}
        now.registrations = {one: self.file(now, one) for one in sorted(hashes)}
        said = registered.announced(observed.before.get("names") or (), now.moment)
        if now.key not in self._looked:
            self._looked.add(now.key)
            if said == {one.name for one in now.registrations[revision.hash].content.names}:
                self._proofs.trust(now)
        now.proven = {
            pod.uid
            for pod in observed.pods
            if pod.ready and pod.revision in now.registrations
            if self._proofs.proven(now.key, pod, now.registrations[pod.revision])
        }

    def file(self, now: Round, revision: str) -> NamesFile:
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
            return NamesFile(revision, content, made="", changed="", fresh=True)
        made, marks = stored["metadata"]["creationTimestamp"], stored["metadata"].get("annotations") or {}
        if text == content.to_json():
            return NamesFile(revision, content, made, marks.get(CHANGED, ""), fresh=False)
        return NamesFile(revision, content, made, facts.timestamp(now.moment), fresh=True, before=said)

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
            return room_of(planned.record)
        name = names.revisioned(now.observed.owner.name, revision)
        return room_of(self._cache.get(REVISIONS, now.key[0], name))

    def _said(self, observed: Observed) -> Iterable[Registration]:
        """Everything that the files of the model's revisions say now, by name."""
        return {one.name: one for file in self._files(observed) for one in file.names}.values()

    def _files(self, observed: Observed) -> list[Registrations]:
        """The files of the model's revisions as they are now."""
        files = self._cache.children(CONFIG_MAPS, observed.key[0], observed.stem)
        read = (_stored(children.stored_registrations(file)) for file in files)
        return [file for file in read if file is not None]

    async def tell(self, key: Key, pods: Iterable[PodFacts], file: NamesFile) -> None:
        """Put the hash onto every pod of the revision that may not have seen the file and does not carry it.

        Raises KubeError once all have been tried.
        """
        digest, slots = file.content.hash, asyncio.Semaphore(_AT_ONCE)
        answers = await asyncio.gather(
            *(
                self._annotate(key[0], pod, digest, slots)
                for pod in pods
                if pod.live and pod.revision == file.revision and pod.registrations != digest
                if older(pod, file) or self._proofs.otherwise(key, pod, file)
            ),
            return_exceptions=True,
        )
        if failed := next((one for one in answers if one is not None), None):
            raise failed

    def doubt(self, now: Round, statuses: RuntimeStatuses) -> bool:
        """Before a file is changed: what its pods have answered so far says nothing of what it becomes.

        True: the pods of the round are to be looked at again.
        """
        return statuses.doubt(now.key, self._proofs.doubt(now))

    def retain(self, key: Key, uids: Iterable[str]) -> None:
        """Forget pods of the model that are gone."""
        kept = set(uids)
        if not kept:
            self._looked.discard(key)
        self._proofs.retain(key, kept)

    async def _annotate(self, namespace: str, pod: PodFacts, digest: str, slots: asyncio.Semaphore) -> None:
        patch = {"metadata": {"uid": pod.uid, "annotations": {labels.REGISTRATIONS: digest}}}
        async with slots:
            try:
                await self._kube.merge_patch(PODS, namespace, pod.name, patch)
            except (NotFound, Conflict):
                return  # another pod by now: its own event leads to the next look


def _next(said: Registrations | None, there: bool, now: Round, revision: str) -> int:
    """The number of the next change of a revision's file, of which no earlier one had it.

    Where a file that pods have read is not there any more, or cannot be read, nobody knows its number: seconds are
    larger than any count.
    """
    if said is not None:
        return said.sequence + 1
    read = there or any(pod.revision == revision for pod in now.observed.pods)
    return int(now.moment.timestamp()) if read else 0


@lru_cache(1_024)
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
