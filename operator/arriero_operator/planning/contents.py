"""ConfigMaps and Secrets that specs refer to: a hash of each key's value.

They are followed by a watch of their metadata in each namespace in which something refers to one; what has changed is
read once.
"""

import asyncio
import hashlib
from collections.abc import Callable, Container
from contextlib import suppress
from typing import Final

from arriero_operator.kube.errors import NotFound, Unavailable
from arriero_operator.kube.protocol import Kind, Kube, Object
from arriero_operator.watching.follower import Follower
from arriero_operator.watching.informer import LISTS

_SYNC: Final = 5.0
"""Seconds for which a model waits for the first list of a namespace; later ones do not, but are told when it is had."""

Followed = tuple[str, str]
"""Kind and namespace."""


class Contents:
    """Follows what it is asked for. `changed` is called with kind and namespace, and the name of what has changed; with
    no name where all of it can be looked at that could not be before."""

    def __init__(self, kube: Kube, changed: Callable[[Followed, str | None], None]) -> None:
        self._kube = kube
        self._changed = changed
        self._followers: dict[Followed, Follower] = {}
        self._lists = asyncio.Semaphore(LISTS)
        self._turned_away: set[Followed] = set()
        self._read: dict[tuple[Followed, str], tuple[str, dict[str, str]]] = {}

    async def keys(self, kind: Kind, namespace: str, name: str) -> dict[str, str] | None:
        """A hash for each key of the object's data; None where it is not there. Raises KubeError."""
        followed = (kind.kind, namespace)
        follower = await self._follower(kind, followed)
        version = follower.versions.get(name)
        if version is None:
            return None
        known = self._read.get((followed, name))
        if known is None or known[0] != version:
            try:
                obj = await self._kube.get(kind, namespace, name)
            except NotFound:
                return None  # the event of that is on its way
            known = self._read[followed, name] = (version, _hashes(obj))
        return known[1]

    def forget(self, followed: Followed, name: str) -> None:
        """Nobody refers to the object any more."""
        self._read.pop((followed, name), None)

    def retain(self, wanted: Container[Followed]) -> None:
        """Follow nothing but these any more."""
        for followed in [one for one in self._followers if one not in wanted]:
            self._followers.pop(followed).stop()
            self._turned_away.discard(followed)

    async def _follower(self, kind: Kind, followed: Followed) -> Follower:
        if followed not in self._followers:
            self._followers[followed] = Follower(
                self._kube,
                kind,
                followed[1],
                lambda name: self._changed(followed, name),
                lambda: self._listed(followed),
                self._lists,
            )
        follower = self._followers[followed]
        if not follower.tried.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(follower.tried.wait(), _SYNC)
            follower.tried.set()  # also where it hangs: once is enough
        if not follower.synced:
            self._turned_away.add(followed)
            raise Unavailable(f"{kind.plural} of namespace {followed[1]} cannot be listed")
        return follower

    def _listed(self, followed: Followed) -> None:
        """What could not be looked at can be: who was turned away may refer to something that does not exist."""
        if followed in self._turned_away:
            self._turned_away.remove(followed)
            self._changed(followed, None)


def _hashes(obj: Object) -> dict[str, str]:
    data = {**(obj.get("data") or {}), **(obj.get("binaryData") or {})}
    return {key: hashlib.sha256(str(value).encode()).hexdigest()[:16] for key, value in data.items()}
