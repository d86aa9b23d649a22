"""The first filling of the cache, and the periodic repair of what a watch lost."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from arriero_operator.cache.keys import key_of
from arriero_operator.cache.store import CACHED, Cache
from arriero_operator.kube.errors import Forbidden, KubeError, NotFound
from arriero_operator.kube.protocol import MODELS, Kind, Kube, Object, Objects, Scope
from arriero_operator.watching.served import Served
from arriero_operator.work.queue import Enqueue

_log = logging.getLogger(__name__)

PERIOD: Final = 600.0
"""Seconds between two repairs, before jitter of a fifth to either side."""
SETTLE: Final = 5.0
"""Seconds after a new list of a watch in which its objects have surely come into the cache."""
_IDENTITY: Final = ("namespace", "name", "uid", "resourceVersion")


class Resync:
    """Compares the cache with lists of what is there. `synced` is True once every kind was listed."""

    def __init__(
        self,
        kube: Kube,
        cache: Cache,
        enqueue: Enqueue,
        served: Served,
        repaired: Callable[[str], None],
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._kube = kube
        self._cache = cache
        self._enqueue = enqueue
        self._served = served
        self._repaired = repaired
        self._jitter = jitter
        self._relisted: set[Kind] = set()
        self._asked = asyncio.Event()
        self.synced = False

    def relisted(self, kind: Kind) -> None:
        """The watch of this kind has lost its place and listed anew: it tells of no object that went meanwhile."""
        self._relisted.add(kind)
        self._asked.set()

    async def prime(self, kinds: Iterable[Kind] = CACHED) -> None:
        """List these kinds in full, once every watch has begun: what goes from then on is told by the watches.

        Raises the errors of `kube.errors`.
        """
        for kind in kinds:
            for namespace in self._places():
                await self._unless_lost(namespace, self._fill(kind, namespace))
        self.synced = True
        _log.info("Caches filled", extra={kind.plural: self._cache.count(kind) for kind in CACHED})

    async def fill(self, namespace: str) -> None:
        """List what is in a namespace that is not served yet. Raises the errors of `kube.errors`."""
        for kind in reversed(CACHED):  # the models last, so that none is seen without its children
            await self._fill(kind, namespace)

    async def run(self) -> None:
        """Repair all from time to time, and one kind after its watch has listed anew, until cancelled.

        A failure is logged, and tried again with the next turn.
        """
        loop = asyncio.get_running_loop()
        due = loop.time() + self._pause()
        while True:
            try:
                async with asyncio.timeout_at(due):
                    await self._asked.wait()
                    await asyncio.sleep(SETTLE)
            except TimeoutError:
                due = loop.time() + self._pause()
                await self._try(self.repair())
            else:
                await self._try(self._repair_relisted())

    async def repair(self) -> None:
        """One comparison by metadata; then every model is reconciled once. Raises the errors of `kube.errors`."""
        for kind in CACHED:
            for namespace in self._places():
                await self._unless_lost(namespace, self._repair(kind, namespace))
        for model in self._cache.models():
            self._touch(MODELS, model, routine=True)

    async def _repair_relisted(self) -> None:
        self._asked.clear()
        for kind in list(self._relisted):
            # First: one that is marked again while it is repaired has a newer list than the repair.
            self._relisted.discard(kind)
            try:
                for namespace in self._places():
                    await self._unless_lost(namespace, self._repair(kind, namespace))
            except KubeError:
                self._relisted.add(kind)
                raise

    def _places(self) -> tuple[str | None, ...]:
        return self._served.there() if self._served.named else (None,)

    async def _unless_lost(self, namespace: str | None, listing: Awaitable[None]) -> None:
        """A refusal in one of several namespaces is no failure: it is lost."""
        try:
            await listing
        except Forbidden as error:
            if namespace is None or not self._served.lose(namespace, error.message):
                raise

    async def _fill(self, kind: Kind, namespace: str | None) -> None:
        async for obj in self._kube.each(kind, namespace, self._selector(kind)):
            self._cache.put(kind, obj)
            self._touch(kind, obj, routine=kind is not MODELS or not _changed(obj))

    async def _try(self, repair: Awaitable[None]) -> None:
        try:
            await repair
        except KubeError as error:
            _log.warning("Resync failed", extra={"error": str(error)})
            if self._relisted:
                self._asked.set()

    def _pause(self) -> float:
        return PERIOD * (0.8 + 0.4 * self._jitter())

    async def _repair(self, kind: Kind, namespace: str | None) -> None:
        """What was known before the list and is not in it is gone; what the list has newer is fetched."""
        before = [obj for obj in self._cache.all(kind) if namespace in (None, obj["metadata"]["namespace"])]
        there, stale = await self._compared(Scope(kind, namespace or "", self._selector(kind), metadata_only=True))
        self._cache.retain_foreign(kind, namespace, there)
        for obj in before:
            metadata = obj["metadata"]
            if metadata["uid"] not in there:
                self._cache.drop(kind, metadata["namespace"], metadata["name"], metadata["uid"])
                self._found(kind, obj)
        for obj in stale:
            if self._cache.has(kind, obj):
                continue  # the watch has told of it meanwhile
            try:
                fetched = await self._kube.get(kind, obj["metadata"]["namespace"], obj["metadata"]["name"])
            except NotFound:
                continue
            if self._cache.put(kind, fetched):
                self._found(kind, fetched)

    async def _compared(self, scope: Scope) -> tuple[set[str], Objects]:
        """The uids of all objects that are there; what names those of which the cache has no version as new.

        One page is in memory at once. A list that had to begin anew has more than there is: it is compared once more.
        """
        there: set[str] = set()
        stale: Objects = []
        versions = set()
        async for version, page in self._kube.listing(scope):
            versions.add(version)
            for obj in page:
                there.add(obj["metadata"]["uid"])
                if not self._cache.has(scope.kind, obj):
                    stale.append({"metadata": {name: obj["metadata"][name] for name in _IDENTITY}})
        if len(versions) > 1:
            self.relisted(scope.kind)
        return there, stale

    def _found(self, kind: Kind, obj: Object) -> None:
        self._repaired(kind.kind)
        _log.warning(
            "Watch had lost a change",
            extra={"kind": kind.kind, "namespace": obj["metadata"]["namespace"], "object": obj["metadata"]["name"]},
        )
        self._touch(kind, obj, routine=False)

    def _touch(self, kind: Kind, obj: Object, *, routine: bool) -> None:
        if key := key_of(kind, obj):
            self._enqueue(key, routine=routine)

    def _selector(self, kind: Kind) -> str:
        return "" if kind is MODELS else self._cache.selector


def _changed(model: Object) -> bool:
    """Whether the spec was changed while no operator worked."""
    seen = (model.get("status") or {}).get("observedGeneration")
    return bool(seen != model["metadata"].get("generation"))
