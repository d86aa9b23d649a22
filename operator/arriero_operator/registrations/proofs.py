"""Which pods have proven that they serve by the registrations of their revision.

A pod proves it by the hash in its /status, which is another for each change, also for one that brings back what was
there before; one that is younger than the file by being ready: it started with it.
"""

from collections.abc import Collection, Container, Mapping
from datetime import timedelta
from typing import Final

from arriero_operator.decide.pins import Entry
from arriero_operator.pods import facts
from arriero_operator.pods.facts import PodFacts
from arriero_operator.rounds.round import NamesFile, Round
from arriero_operator.work.keys import Key

CLOCKS: Final = timedelta(seconds=30)
"""By how much the clocks of the operator and of the API server may differ. A pod is wrongly taken for older at most:
it is asked once more than needed."""


class Proofs:
    """The hash that each pod has proven last, by model."""

    def __init__(self) -> None:
        self._proven: dict[Key, dict[str, str]] = {}

    def proven(self, key: Key, pod: PodFacts, file: NamesFile) -> bool:
        """Whether the ready pod is known to serve by the file."""
        known = self._proven.setdefault(key, {})
        if pod.status is not None and pod.status.registrations:
            known[pod.uid] = pod.status.registrations
        if file.fresh and file.changed:
            return False
        if pod.uid in known:
            return known[pod.uid] == file.content.hash
        return pod.ready and not older(pod, file)

    def otherwise(self, key: Key, pod: PodFacts, file: NamesFile) -> bool:
        """Whether the pod is known to serve by something else than the file."""
        known = self._proven.get(key, {}).get(pod.uid)
        return known is not None and known != file.content.hash

    def doubt(self, now: Round) -> Mapping[str, Collection[Entry]]:
        """Before files are changed: forget what their pods have proven. The uids of these, with the adapters that last.

        They may have served something else meanwhile, and what they said before that must not be taken for an answer
        when the file comes back to it.
        """
        known = self._proven.get(now.key, {})
        doubted = {}
        for pod in now.observed.pods:
            file = now.registrations.get(pod.revision)
            if file is not None and file.fresh and file.changed:
                known.pop(pod.uid, None)
                doubted[pod.uid] = file.lasting
        return doubted

    def trust(self, now: Round) -> None:
        """After a restart of the operator: what the status says of unchanged names was proven before."""
        known = self._proven.setdefault(now.key, {})
        for pod in now.observed.pods:
            file = now.registrations.get(pod.revision)
            if pod.ready and file is not None and not file.fresh and pod.registrations == file.content.hash:
                known.setdefault(pod.uid, file.content.hash)

    def retain(self, key: Key, uids: Container[str]) -> None:
        """Forget pods of the model that are gone."""
        known = {uid: proof for uid, proof in self._proven.pop(key, {}).items() if uid in uids}
        if known:
            self._proven[key] = known


def older(pod: PodFacts, file: NamesFile) -> bool:
    """Whether the pod may have been there before the registrations became what they are.

    Times are whole seconds. A revision's pods are made after its ConfigMap, and the API server's clock says when both
    were; but a change is dated by the operator's own clock.
    """
    made, changed = facts.time(file.made), facts.time(file.changed)
    if changed is not None:
        return pod.created <= changed + CLOCKS
    return made is None or pod.created < made
