"""An operator in this process that is killed after so many writes, as the kernel would: nobody learns the answer.

All of it is the product's own but for the watch, which is shared between many (`feed`), and the runtimes (`kubelet`).
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Mapping
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

from arriero_operator.cache.kube import CachedKube
from arriero_operator.cache.store import Cache
from arriero_operator.configuration.settings import Settings
from arriero_operator.kube.protocol import Kind, Kube, Object, Objects, Scope
from arriero_operator.observing.runtime_status import Fetch, RuntimeStatuses
from arriero_operator.process.metrics import Metrics
from arriero_operator.reconcile.reconciler import Reconciler
from arriero_operator.watching.intake import take
from arriero_operator.watching.news import Expected
from arriero_operator.watching.resync import Resync
from arriero_operator.watching.served import Served
from arriero_operator.work.queue import Queue
from tests.operator.faults.feed import Feed

T = TypeVar("T")


class MortalKube:
    """Counts writes; from the fatal one on nothing is sent any more, and no call returns."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._fatal = 0
        self.writes = 0
        self.died = asyncio.Event()

    def die_after(self, writes: int) -> None:
        """The `writes`-th write from now on is the last one; 0: never."""
        self.writes, self._fatal = 0, writes

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        return await self._read(self._kube.get(kind, namespace, name))

    async def list(
        self, kind: Kind, namespace: str | None = None, labels: str = "", metadata_only: bool = False
    ) -> Objects:
        return await self._read(self._kube.list(kind, namespace, labels, metadata_only))

    async def each(self, kind: Kind, namespace: str | None = None, labels: str = "") -> AsyncIterator[Object]:
        async for obj in self._kube.each(kind, namespace, labels):
            if self.died.is_set():
                await _never()
            yield obj

    async def events_about(self, namespace: str, uid: str) -> Objects:
        return await self._read(self._kube.events_about(namespace, uid))

    async def create(self, kind: Kind, obj: Object) -> Object:
        return await self._write(self._kube.create(kind, obj))

    async def apply(
        self, kind: Kind, obj: Object, *, manager: str, force: bool = True, subresource: str = ""
    ) -> Object:
        return await self._write(self._kube.apply(kind, obj, manager=manager, force=force, subresource=subresource))

    def listing(self, scope: Scope) -> AsyncIterator[tuple[str, Objects]]:
        return self._kube.listing(scope)

    def watch(self, scope: Scope, version: str, *, seconds: int, silence: float) -> AsyncGenerator[Object, None]:
        return self._kube.watch(scope, version, seconds=seconds, silence=silence)

    async def try_create(self, kind: Kind, obj: Object) -> None:
        await self._read(self._kube.try_create(kind, obj))

    async def merge_patch(self, kind: Kind, namespace: str, name: str, patch: Mapping[str, Any]) -> Object:
        return await self._write(self._kube.merge_patch(kind, namespace, name, patch))

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str) -> None:
        await self._write(self._kube.delete(kind, namespace, name, uid=uid))

    async def _read(self, call: Coroutine[Any, Any, T]) -> T:
        if self.died.is_set():
            await _never(call)
        return await call

    async def _write(self, call: Coroutine[Any, Any, T]) -> T:
        if self.died.is_set():
            await _never(call)
        try:
            answer = await call
        finally:
            self.writes += 1
            if self.writes == self._fatal:
                self.died.set()
        if self.died.is_set():
            await _never()
        return answer


class Mortal:
    """One operator of one namespace."""

    def __init__(self, kube: Kube, feed: Feed, namespace: str, settings: Settings, fetch: Fetch) -> None:
        self._feed = feed
        self._namespace = namespace
        self._cache, self._expected = Cache(), Expected()
        self.kube = MortalKube(kube)
        cached = CachedKube(self.kube, self._cache)
        metrics = Metrics()
        reconcile = Reconciler(cached, self._cache, settings, RuntimeStatuses(fetch), self._expected)
        self.queue = Queue(reconcile, 2, metrics)
        self._resync = Resync(cached, self._cache, self.queue.add, Served((namespace,)), metrics.repaired)
        self._working: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """As a process does: watch, fill the cache, work."""
        self._feed.join(self._namespace, self._take)
        await self._resync.prime()
        self._working = asyncio.create_task(self.queue.run(), name=f"operator {self._namespace}")

    async def end(self) -> None:
        """Nothing of it is left."""
        self._feed.leave(self._namespace)
        if self._working is not None:
            self._working.cancel()
            with suppress(asyncio.CancelledError):
                await self._working

    def _take(self, kind: Kind, happened: str | None, obj: Object) -> None:
        if key := take(kind, happened, obj, self._cache, self._expected):
            self.queue.add(key)


async def _never(call: Coroutine[Any, Any, Any] | None = None) -> NoReturn:
    """A dead process sends nothing and learns nothing."""
    if call is not None:
        call.close()
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")
