"""Whom a round asks beyond the cache, and what of the answers goes into it."""

from dataclasses import replace

from arriero_operator.cache.store import Cache
from arriero_operator.observing.curiosity import questions, unreachable
from arriero_operator.observing.observe import pods_of
from arriero_operator.observing.pod_events import PodEvents
from arriero_operator.observing.runtime_status import RuntimeStatuses
from arriero_operator.reconcile.waits import soonest
from arriero_operator.registrations.files import NamesFiles
from arriero_operator.rounds.round import Round


class Asking:
    """Asks the runtimes that somebody waits for, and Events of pods that wait."""

    def __init__(self, cache: Cache, statuses: RuntimeStatuses, heard: PodEvents, registrations: NamesFiles) -> None:
        self._cache = cache
        self._statuses = statuses
        self._heard = heard
        self._registrations = registrations

    async def ask(self, now: Round) -> float | None:
        """Take the answers into what was observed. How soon that is to be asked again, in seconds; None: not by time
        alone."""
        uids = [pod.uid for pod in now.observed.pods]
        self._statuses.retain(now.key, uids)
        self._registrations.retain(now.key, uids)
        self._registrations.look(now)
        asked = questions(now, self._statuses)
        await self._statuses.refresh(now.key, asked)
        again = await self._heard.refresh(now.key, now.observed.pods, now.moment)
        if asked or again is not None:
            self._take(now)
            asked = questions(now, self._statuses)  # what is still open after the answers
        now.unreachable = unreachable(now, self._statuses)
        return soonest(again, *(interval for _, interval in asked))

    def doubt(self, now: Round) -> None:
        """Take what pods said before out of the round, where their file is to be changed."""
        if self._registrations.doubt(now, self._statuses):
            self._take(now)

    def _take(self, now: Round) -> None:
        now.observed = replace(now.observed, pods=pods_of(self._cache, self._statuses, self._heard, now.key))
        self._registrations.look(now)
