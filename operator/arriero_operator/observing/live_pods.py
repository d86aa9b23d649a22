"""A look at a model's pods past the cache: before a step that takes pods down, or gives a revision up.

A watch may have fallen silent without anybody knowing yet; what it says of pods may then be long over.
"""

from dataclasses import replace

from arriero_api import labels
from arriero_operator.cache.store import Cache
from arriero_operator.kube.protocol import PODS, Kube
from arriero_operator.observing.observe import pods_of
from arriero_operator.observing.pod_events import PodEvents
from arriero_operator.observing.runtime_status import RuntimeStatuses
from arriero_operator.rounds.round import Round


class LivePods:
    """Looks at pods live, and puts what was found into the cache."""

    def __init__(self, kube: Kube, cache: Cache, statuses: RuntimeStatuses, heard: PodEvents) -> None:
        self._kube = kube
        self._cache = cache
        self._statuses = statuses
        self._heard = heard

    async def look(self, now: Round) -> bool:
        """Put the pods as they are into the round; True: they are not what it had. Raises KubeError."""
        namespace, stem = now.key[0], now.observed.stem
        known = self._cache.pods(*now.key)
        there = await self._kube.list(PODS, namespace, f"{labels.MODEL}={stem}")
        uids = {pod["metadata"]["uid"] for pod in there}
        for pod in known:
            if pod["metadata"]["uid"] not in uids:
                self._cache.drop(PODS, namespace, pod["metadata"]["name"], pod["metadata"]["uid"])
        pods = pods_of(self._cache, self._statuses, self._heard, now.key)
        changed = pods != now.observed.pods
        now.observed = replace(now.observed, pods=pods)
        return changed
