"""One of several watched namespaces that goes: it is left out, and taken up again when it is back."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Final

from arriero_operator.cache.store import Cache
from arriero_operator.kube.errors import Forbidden, KubeError
from arriero_operator.process.errors import StartupError
from arriero_operator.watching.resync import Resync
from arriero_operator.watching.served import Served
from arriero_operator.watching.watches import Watches
from arriero_operator.work.keys import Key
from arriero_operator.work.queue import Enqueue
from arriero_operator.work.result import Reconcile, Result

_log = logging.getLogger(__name__)

LONGEST: Final = 60.0
"""Seconds between two looks whether a namespace is back, before jitter down to a half: the first ones come earlier."""


class Namespaces:
    """Follows each named namespace while it is served; without named ones all at once.

    `follow` follows one until cancelled, and is refused (Forbidden) where it is gone; `check` raises StartupError where
    the operator lacks rights in one.
    """

    def __init__(
        self,
        served: Served,
        cache: Cache,
        watches: Watches,
        resync: Resync,
        enqueue: Enqueue,
        follow: Callable[[str], Awaitable[None]],
        check: Callable[[str], Awaitable[None]],
    ) -> None:
        self._served = served
        self._cache = cache
        self._watches = watches
        self._resync = resync
        self._enqueue = enqueue
        self._follow = follow
        self._check = check

    async def run(self) -> None:
        """Until cancelled. Raises, in a group, what ends a watch, and Forbidden where no other namespace is served."""
        async with asyncio.TaskGroup() as group:
            for namespace in self._served.named or ("",):
                group.create_task(self._keep(namespace), name=f"namespace {namespace}".strip())

    async def _keep(self, namespace: str) -> None:
        while True:
            if self._served.has(namespace):
                await self._until_lost(namespace)
            because = self._served.lost[namespace]
            _log.error("Namespace lost", extra={"namespace": namespace, "error": because})
            self._watches.leave(namespace)
            keys = self._keys(namespace)
            self._cache.forget(namespace)
            await self._until_back(namespace)
            self._served.regain(namespace)
            _log.info("Namespace is back", extra={"namespace": namespace})
            # Those that have gone meanwhile too: what is remembered of them is dropped.
            for key in {*keys, *self._keys(namespace)}:
                self._enqueue(key)

    async def _until_lost(self, namespace: str) -> None:
        following = asyncio.ensure_future(self._follow(namespace))
        lost = asyncio.ensure_future(self._served.until(namespace, served=False))
        try:
            await asyncio.wait([following, lost], return_when=asyncio.FIRST_COMPLETED)
            if following.done() and (error := following.exception()) is not None:
                refused = _refused(error)
                if refused is None or not self._served.lose(namespace, refused.message):
                    raise error
        finally:
            for task in (following, lost):
                task.cancel()
            await asyncio.gather(following, lost, return_exceptions=True)

    async def _until_back(self, namespace: str) -> None:
        """Wait until the operator has its rights there, and fill the cache with what there is."""
        wait, said = 1.0, self._served.lost[namespace]
        while True:
            await asyncio.sleep(wait * (0.5 + 0.5 * random.random()))
            wait = min(LONGEST, 2 * wait)
            try:
                await self._check(namespace)
                await self._resync.fill(namespace)
            except (KubeError, StartupError) as error:
                if said != (said := str(error)):
                    _log.warning("Namespace is not back", extra={"namespace": namespace, "error": said})
            else:
                self._watches.enter(namespace)
                return

    def _keys(self, namespace: str) -> list[Key]:
        return [(namespace, model["metadata"]["name"]) for model in self._cache.models(namespace)]


def only_served(reconcile: Reconcile, served: Served) -> Reconcile:
    """`reconcile`, but nothing for models of a namespace that is not served: all are looked at on its return."""

    async def guarded(key: Key) -> Result:
        return await reconcile(key) if served.has(key[0]) else Result()

    return guarded


def _refused(error: BaseException) -> Forbidden | None:
    """The first refusal of a group in which is nothing else."""
    if isinstance(error, BaseExceptionGroup):
        found = [_refused(one) for one in error.exceptions]
        return found[0] if all(found) else None
    return error if isinstance(error, Forbidden) else None
