"""A Kube whose answers also go into the cache, so that what the operator wrote is what it sees."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any

from arriero_operator.cache.store import CACHED, Cache, is_watched
from arriero_operator.kube.errors import NotFound
from arriero_operator.kube.protocol import Kind, Kube, Object, Objects, Scope


class CachedKube:
    """Passes every call on to `kube`; keeps what it answers, of the kinds that are watched."""

    def __init__(self, kube: Kube, cache: Cache) -> None:
        self._kube = kube
        self._cache = cache

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        """As Kube.get; an object that is gone leaves the cache too."""
        known = self._known_uid(kind, namespace, name)
        try:
            return self._keep(kind, await self._kube.get(kind, namespace, name))
        except NotFound:
            self._forget(kind, namespace, name, known)
            raise

    async def list(
        self, kind: Kind, namespace: str | None = None, labels: str = "", metadata_only: bool = False
    ) -> Objects:
        """As Kube.list."""
        found = await self._kube.list(kind, namespace, labels, metadata_only)
        return found if metadata_only else [self._keep(kind, obj) for obj in found]

    async def each(self, kind: Kind, namespace: str | None = None, labels: str = "") -> AsyncIterator[Object]:
        """As Kube.each."""
        async for obj in self._kube.each(kind, namespace, labels):
            yield self._keep(kind, obj)

    async def events_about(self, namespace: str, uid: str) -> Objects:
        """As Kube.events_about."""
        return await self._kube.events_about(namespace, uid)

    async def create(self, kind: Kind, obj: Object) -> Object:
        """As Kube.create."""
        return self._keep(kind, await self._kube.create(kind, obj))

    def listing(self, scope: Scope) -> AsyncIterator[tuple[str, Objects]]:
        """As Source.listing; nothing of it is kept."""
        return self._kube.listing(scope)

    def watch(self, scope: Scope, version: str, *, seconds: int, silence: float) -> AsyncGenerator[Object, None]:
        """As Source.watch; nothing of it is kept."""
        return self._kube.watch(scope, version, seconds=seconds, silence=silence)

    async def apply(
        self, kind: Kind, obj: Object, *, manager: str, force: bool = True, subresource: str = ""
    ) -> Object:
        """As Kube.apply."""
        done = await self._kube.apply(kind, obj, manager=manager, force=force, subresource=subresource)
        return done if subresource == "scale" else self._keep(kind, done)

    async def try_create(self, kind: Kind, obj: Object) -> None:
        """As Kube.try_create."""
        await self._kube.try_create(kind, obj)

    async def merge_patch(self, kind: Kind, namespace: str, name: str, patch: Mapping[str, Any]) -> Object:
        """As Kube.merge_patch; an object that is gone leaves the cache too."""
        known = self._known_uid(kind, namespace, name)
        try:
            return self._keep(kind, await self._kube.merge_patch(kind, namespace, name, patch))
        except NotFound:
            self._forget(kind, namespace, name, known)
            raise

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str) -> None:
        """As Kube.delete; an object that ends later comes back into the cache with its next event."""
        await self._kube.delete(kind, namespace, name, uid=uid)
        self._forget(kind, namespace, name, uid)

    def _keep(self, kind: Kind, obj: Object) -> Object:
        if is_watched(kind, obj):
            self._cache.put(kind, obj)
        return obj

    def _known_uid(self, kind: Kind, namespace: str, name: str) -> str:
        known = self._cache.get(kind, namespace, name) if kind in CACHED else None
        return str(known["metadata"]["uid"]) if known else ""

    def _forget(self, kind: Kind, namespace: str, name: str, uid: str) -> None:
        """Only the object that was known before the request: another may have come meanwhile."""
        if uid and kind in CACHED:
            self._cache.drop(kind, namespace, name, uid)
