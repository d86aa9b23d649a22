"""The end of deleted models: nothing is done, the garbage collector removes the children; the drain is told of.

A model that is made anew under its name while pods of the deleted one still drain is another model: each uid has its
own farewell.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from arriero_operator.cache.last_words import Tally
from arriero_operator.cache.store import Cache
from arriero_operator.kube.protocol import Kube, Object
from arriero_operator.reconcile import events
from arriero_operator.work.keys import Key

LOOK_AGAIN: Final = 1.0


@dataclass(slots=True)
class _Known:
    """One model, by uid. `pods` are the uids of its pods when it was last seen; `told`: that they drain; `tally`: what
    those that have gone since it was deleted or scaled to zero said."""

    model: Object
    pods: set[str] = field(default_factory=set)
    told: bool = False
    tally: Tally = field(default_factory=Tally)


class Farewells:
    """Models that this process has seen and that may end."""

    def __init__(self, kube: Kube, cache: Cache, clock: Callable[[], str]) -> None:
        self._kube = kube
        self._cache = cache
        self._clock = clock
        self._known: dict[Key, dict[str, _Known]] = {}

    def seen(self, model: Object) -> None:
        """The model is there."""
        metadata = model["metadata"]
        key = (metadata["namespace"], metadata["name"])
        known = self._known.setdefault(key, {})
        one = known.setdefault(metadata["uid"], _Known(model))
        one.model = model
        self._count(key, one)
        if (model.get("spec") or {}).get("replicas") != 0:
            one.tally = Tally()

    def tally(self, key: Key, uid: str) -> Tally:
        """What the pods of a model said that is scaled to zero."""
        return self._known[key][uid].tally

    async def follow(self, key: Key, current: str = "") -> float | None:
        """Tell of the pods of each model of this name that is gone; `current` is the uid of the one that is there.

        Seconds until the next look; None when their last pod has ended.
        """
        known = self._known.get(key, {})
        present = {pod["metadata"]["uid"]: pod for pod in self._cache.pods(*key)}
        gone = [uid for uid in known if uid != current]
        if gone and not current:
            self._count(key, known[gone[-1]])
        for uid in gone:
            left = [present[pod] for pod in known[uid].pods if pod in present]
            if not left:
                await self._ended(known.pop(uid))
            elif not known[uid].told and (not current or any(map(_deleting, left))):
                known[uid].told = True
                await self._emit(known[uid], events.shutdown_started())
        if not known:
            self._known.pop(key, None)
        return LOOK_AGAIN if any(uid in known for uid in gone) else None

    def _count(self, key: Key, one: _Known) -> None:
        """Which pods are the model's: all but those of deleted namesakes."""
        others = {pod for other in self._known[key].values() if other is not one for pod in other.pods}
        left = {pod["metadata"]["uid"] for pod in self._cache.pods(*key)} - others
        self._add(one, one.pods - left)
        one.pods = left

    def _add(self, one: _Known, gone: set[str]) -> None:
        one.tally = one.tally.plus(self._cache.last_words.of(uid) for uid in gone)

    async def _ended(self, one: _Known) -> None:
        self._add(one, one.pods)
        if one.told:
            await self._emit(one, events.shutdown_complete(one.tally))

    async def _emit(self, one: _Known, event: events.Event) -> None:
        await events.emit(self._kube, one.model, [event], self._clock())


def _deleting(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"]
