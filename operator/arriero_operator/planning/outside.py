"""What specs and profiles refer to: whether it is there, and a hash of its content.

ConfigMaps, and Secrets where the chart lets the operator read them, are followed by a watch of their metadata in each
namespace in which something refers to one; what has changed is read once. Claims and classes are looked up when they
are first referred to, again while they are missing, and with the periodic resync.
"""

import asyncio
import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from arriero_operator.configuration.limits import Reads
from arriero_operator.decide.references import Found, judge
from arriero_operator.kube.errors import NotFound, Unavailable
from arriero_operator.kube.protocol import (
    CLAIMS,
    CONFIG_MAPS,
    PRIORITY_CLASSES,
    RUNTIME_CLASSES,
    SECRETS,
    STORAGE_CLASSES,
    Kind,
    Kube,
    Object,
)
from arriero_operator.render.references import CLASSES, SECRET, Reference
from arriero_operator.revisions.lineage import Seen
from arriero_operator.watching.follower import Follower
from arriero_operator.watching.informer import LISTS
from arriero_operator.work.keys import Key

KINDS: Final = {
    kind.kind: kind for kind in (CONFIG_MAPS, SECRETS, CLAIMS, PRIORITY_CLASSES, RUNTIME_CLASSES, STORAGE_CLASSES)
}
_SYNC: Final = 5.0
"""Seconds for which a model waits for the first list of a namespace; later ones do not, but are told when it is had."""
_FRESH: Final = 450.0
"""Seconds for which a claim or class that was found is believed to be there: less than between two resyncs."""
_AGAIN: Final = 5.0
_LONGEST: Final = 60.0
"""Seconds between two looks at a claim or class that is missing; longer each time."""

_Place = tuple[str, str, str]
"""Kind, namespace, name."""


@dataclass(slots=True)
class _Looked:
    """A claim or class when it was last looked up."""

    found: Object | None
    at: float
    wait: float

    @property
    def modes(self) -> tuple[str, ...]:
        """A claim's access modes."""
        return tuple(((self.found or {}).get("spec") or {}).get("accessModes") or ())


class Outside:
    """Looks things up for models, and calls `changed` with the model's key when one of them has changed."""

    def __init__(
        self, kube: Kube, reads: Reads, changed: Callable[[Key], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._kube = kube
        self._reads = reads
        self._changed = changed
        self._clock = clock
        self._followers: dict[tuple[str, str], Follower] = {}
        self._lists = asyncio.Semaphore(LISTS)
        self._turned_away: set[tuple[str, str]] = set()
        self._interest: defaultdict[_Place, set[Key]] = defaultdict(set)
        self._wanted: dict[Key, set[_Place]] = {}
        self._contents: dict[_Place, tuple[str, dict[str, str]]] = {}
        self._looked: dict[_Place, _Looked] = {}

    async def look(self, key: Key, needed: Iterable[Reference], replicas: int) -> Seen:
        """What `needed` comes to. Raises KubeError."""
        looked = [one for one in needed if self._may_look(one)]
        self._want(key, looked)
        found = [await self._find(key[0], one) for one in looked]
        return judge(found, replicas)

    async def claim_modes(self, namespace: str, name: str) -> tuple[str, ...] | None:
        """Access modes of a claim; None where it is not there. Raises KubeError."""
        looked = await self._lookup(CLAIMS, namespace, name)
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
            keys = await self._keys(KINDS[one.kind], namespace, one.name)
            there = keys is not None and (not one.key or one.key in keys)
            there = there and (not one.one_of or any(key in (keys or ()) for key in one.one_of))
            content = {} if keys is None or one.followed else {k: v for k, v in keys.items() if one.key in ("", k)}
            return Found(one, there, json.dumps(content, sort_keys=True) if content else "")
        looked = await self._lookup(KINDS[one.kind], "" if one.kind in CLASSES else namespace, one.name)
        gone = looked.found is None
        return Found(one, not gone, "", looked.modes, looked.wait if gone else None)

    async def _keys(self, kind: Kind, namespace: str, name: str) -> dict[str, str] | None:
        """A hash for each key of the object's data; None where it is not there."""
        follower = await self._follower(kind, namespace)
        version = follower.versions.get(name)
        if version is None:
            return None
        place = (kind.kind, namespace, name)
        known = self._contents.get(place)
        if known is None or known[0] != version:
            try:
                obj = await self._kube.get(kind, namespace, name)
            except NotFound:
                return None  # the event of that is on its way
            known = self._contents[place] = (version, _hashes(obj))
        return known[1]

    async def _follower(self, kind: Kind, namespace: str) -> Follower:
        place = (kind.kind, namespace)
        if place not in self._followers:
            self._followers[place] = Follower(
                self._kube,
                kind,
                namespace,
                lambda name: self._tell((kind.kind, namespace, name)),
                lambda: self._tell_all(place),
                self._lists,
            )
        follower = self._followers[place]
        if not follower.tried.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(follower.tried.wait(), _SYNC)
            follower.tried.set()  # also where it hangs: once is enough
        if not follower.synced:
            self._turned_away.add(place)
            raise Unavailable(f"{kind.plural} of namespace {namespace} cannot be listed")
        return follower

    async def _lookup(self, kind: Kind, namespace: str, name: str) -> _Looked:
        place, now = (kind.kind, namespace, name), self._clock()
        known = self._looked.get(place)
        if known is not None and now < known.at + (_FRESH if known.found else known.wait):
            return known
        try:
            obj: Object | None = await self._kube.get(kind, namespace, name)
        except NotFound:
            obj = None
        wait = min(_LONGEST, known.wait * 2) if known is not None and known.found is None else _AGAIN
        looked = _Looked(obj, now, wait)
        if place in self._interest:  # what no model refers to would never be forgotten
            self._looked[place] = looked
        return looked

    def _tell(self, place: _Place) -> None:
        for key in self._interest.get(place, ()):
            self._changed(key)

    def _tell_all(self, followed: tuple[str, str]) -> None:
        """What could not be looked at can be: who was turned away may refer to something that does not exist."""
        if followed not in self._turned_away:
            return
        self._turned_away.remove(followed)
        for place in [place for place in self._interest if place[:2] == followed]:
            self._tell(place)

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
                self._contents.pop(place, None)
                self._looked.pop(place, None)
        for followed in [one for one in self._followers if before and not self._is_wanted(one)]:
            self._followers.pop(followed).stop()
            self._turned_away.discard(followed)

    def _is_wanted(self, followed: tuple[str, str]) -> bool:
        return any(place[:2] == followed for place in self._interest)


def _hashes(obj: Object) -> dict[str, str]:
    data = {**(obj.get("data") or {}), **(obj.get("binaryData") or {})}
    return {key: hashlib.sha256(str(value).encode()).hexdigest()[:16] for key, value in data.items()}
