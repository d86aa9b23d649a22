"""What specs and profiles refer to: whether it is there, and a hash of its content.

ConfigMaps, and Secrets where the chart lets the operator read them, are followed (`contents`); claims and classes are
looked up (`lookups`).
"""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Final

from arriero_operator.configuration.limits import Reads
from arriero_operator.decide.references import Found, judge
from arriero_operator.kube.protocol import (
    CLAIMS,
    CONFIG_MAPS,
    PRIORITY_CLASSES,
    RUNTIME_CLASSES,
    SECRETS,
    STORAGE_CLASSES,
    Kube,
)
from arriero_operator.planning.contents import Contents, Followed
from arriero_operator.planning.lookups import Lookups, Place
from arriero_operator.render.references import CLASSES, SECRET, Reference
from arriero_operator.revisions.lineage import Seen
from arriero_operator.work.keys import Key

KINDS: Final = {
    kind.kind: kind for kind in (CONFIG_MAPS, SECRETS, CLAIMS, PRIORITY_CLASSES, RUNTIME_CLASSES, STORAGE_CLASSES)
}


class Outside:
    """Looks things up for models, and calls `changed` with the model's key when one of them has changed."""

    def __init__(
        self, kube: Kube, reads: Reads, changed: Callable[[Key], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._reads = reads
        self._changed = changed
        self._interest: defaultdict[Place, set[Key]] = defaultdict(set)
        self._wanted: dict[Key, set[Place]] = {}
        self._contents = Contents(kube, self._tell)
        self._lookups = Lookups(kube, lambda place: place in self._interest, clock)

    async def look(self, key: Key, needed: Iterable[Reference], replicas: int) -> Seen:
        """What `needed` comes to. Raises KubeError."""
        looked = [one for one in needed if self._may_look(one)]
        self._want(key, looked)
        found = [await self._find(key[0], one) for one in looked]
        return judge(found, replicas)

    async def claim_modes(self, namespace: str, name: str) -> tuple[str, ...] | None:
        """Access modes of a claim; None where it is not there. Raises KubeError."""
        looked = await self._lookups.look(CLAIMS, namespace, name)
        return None if looked.found is None else looked.modes

    def forget(self, key: Key) -> None:
        """The model is gone."""
        self._want(key, ())

    def _may_look(self, one: Reference) -> bool:
        if one.kind == SECRET:
            return self._reads.secrets
        return self._reads.classes or one.kind not in CLASSES

    async def _find(self, namespace: str, one: Reference) -> Found:
        if one.kind in (CONFIG_MAPS.kind, SECRETS.kind):
            keys = await self._contents.keys(KINDS[one.kind], namespace, one.name)
            there = keys is not None and (not one.key or one.key in keys)
            there = there and (not one.one_of or any(key in (keys or ()) for key in one.one_of))
            content = {} if keys is None or one.followed else {k: v for k, v in keys.items() if one.key in ("", k)}
            return Found(one, there, json.dumps(content, sort_keys=True) if content else "")
        looked = await self._lookups.look(KINDS[one.kind], "" if one.kind in CLASSES else namespace, one.name)
        gone = looked.found is None
        return Found(one, not gone, "", looked.modes, looked.wait if gone else None)

    def _tell(self, followed: Followed, name: str | None) -> None:
        """Whoever refers to the object, or to any of that kind and namespace."""
        places = [(*followed, name)] if name is not None else [one for one in self._interest if one[:2] == followed]
        for place in places:
            for key in self._interest.get(place, ()):
                self._changed(key)

    def _want(self, key: Key, needed: Iterable[Reference]) -> None:
        """Remember what the model refers to, and forget what no model refers to any more."""
        wanted = {(one.kind, "" if one.kind in CLASSES else key[0], one.name) for one in needed}
        before = self._wanted.pop(key, set())
        if wanted:
            self._wanted[key] = wanted
        for place in wanted - before:
            self._interest[place].add(key)
        for place in before - wanted:
            self._interest[place].discard(key)
            if not self._interest[place]:
                del self._interest[place]
                self._contents.forget(place[:2], place[2])
                self._lookups.forget(place)
        if before - wanted:
            self._contents.retain({place[:2] for place in self._interest})
