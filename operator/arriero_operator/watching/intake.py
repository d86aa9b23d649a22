"""Where watch events come in: each goes into the cache, and its model's key onto the queue."""

from collections.abc import Callable

from arriero_operator.cache.keys import key_of
from arriero_operator.cache.store import Cache
from arriero_operator.kube.protocol import MODELS, Kind, Object
from arriero_operator.watching.news import Expected, tells
from arriero_operator.watching.wishes import Wishes
from arriero_operator.work.keys import Key
from arriero_operator.work.queue import Enqueue


class Intake:
    """Takes events of every kind. `changed` is called with the key of a model of which its user wants something else,
    `told` with that of any other event; `watched` with the kind of each."""

    def __init__(
        self,
        cache: Cache,
        expected: Expected,
        told: Enqueue,
        changed: Callable[[Key], None],
        watched: Callable[[str], None],
    ) -> None:
        self._cache = cache
        self._expected = expected
        self._told = told
        self._changed = changed
        self._watched = watched
        self._wishes = Wishes()

    def __call__(self, kind: Kind, happened: str | None, obj: Object) -> None:
        """`happened` is the event's type, None for an object of a list. Waits for nothing."""
        self._watched(kind.kind)
        key = take(kind, happened, obj, self._cache, self._expected)
        if key is None:
            return
        if kind is MODELS and self._wishes.differ(key, happened, obj):
            self._changed(key)
        else:
            # A list tells of everything, and little of that is a change.
            self._told(key, routine=happened is None)


def take(kind: Kind, happened: str | None, obj: Object, cache: Cache, expected: Expected) -> Key | None:
    """Bring one event into the cache; the key to reconcile, or None for an event that is out of date, nobody's
    or tells nothing that is read."""
    metadata = obj["metadata"]
    place = (metadata["namespace"], metadata["name"])
    before = cache.get(kind, *place)
    if happened == "DELETED":
        cache.drop(kind, *place, metadata["uid"], version=metadata["resourceVersion"])
    elif not cache.put(kind, obj):
        return None
    elif happened == "MODIFIED" and (now := cache.get(kind, *place)) is not None:
        told = not expected.came(now) if kind is MODELS else tells(kind, before, now)
        return key_of(kind, obj) if told else None
    return key_of(kind, obj)
