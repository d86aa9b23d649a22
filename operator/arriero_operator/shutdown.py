"""The end of deleted models: nothing is done, the garbage collector removes the children; the drain is told of."""

from collections.abc import Callable
from typing import Final

from arriero_api import labels
from arriero_operator import events
from arriero_operator.cache import Cache
from arriero_operator.keys import Key
from arriero_operator.kube.protocol import Kube, Object
from arriero_operator.render import names

LOOK_AGAIN: Final = 1.0


class Farewells:
    """Models that this process has seen and that may end."""

    def __init__(self, kube: Kube, cache: Cache, now: Callable[[], str]) -> None:
        self._kube = kube
        self._cache = cache
        self._now = now
        self._seen: dict[Key, Object] = {}
        self._draining: set[str] = set()

    def seen(self, model: Object) -> None:
        """The model is there."""
        metadata = model["metadata"]
        self._seen[(metadata["namespace"], metadata["name"])] = model

    async def follow(self, key: Key) -> float | None:
        """The model is gone: tell of its pods. Seconds until the next look; None when its last pod has ended."""
        model = self._seen.get(key)
        if model is None:
            return None
        uid = model["metadata"]["uid"]
        if self._pods(key):
            if uid not in self._draining:
                self._draining.add(uid)
                await events.emit(self._kube, model, [events.shutdown_started()], self._now())
            return LOOK_AGAIN
        del self._seen[key]
        if uid in self._draining:
            self._draining.discard(uid)
            await events.emit(self._kube, model, [events.shutdown_complete()], self._now())
        return None

    def _pods(self, key: Key) -> list[Object]:
        found = self._cache.pods(key[0], names.stem(key[1]))
        return [pod for pod in found if (pod["metadata"].get("annotations") or {}).get(labels.OWNER) == key[1]]
