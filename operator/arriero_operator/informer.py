"""The objects of one kind in one namespace, or in all: listed once, then followed by streams that continue each other.

A place that the API server has forgotten (410) is followed by a new list, which tells of no object that went meanwhile:
`Watches` has that repaired. Streams that end, are cut or fall silent are begun anew; what fails time
after time for about a minute is raised, and ends the process.
"""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, Protocol

from arriero_operator import watches
from arriero_operator.intake import Intake
from arriero_operator.kube.adapter import collection_path
from arriero_operator.kube.errors import Expired, Throttled, Unavailable
from arriero_operator.kube.protocol import CHILDREN, PODS, Kind, Object, Objects
from arriero_operator.watches import Watches

_log = logging.getLogger(__name__)

FOLLOWED: Final = (*CHILDREN, PODS)
BACKOFFS: Final = (1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0)
"""Seconds between two tries, before jitter down to a half; after the last one the failure is raised."""
_BRIEF: Final = 1.0
"""Seconds that a stream lasts at least where nothing is wrong, unless it tells of something."""
_LISTS: Final = 2
"""Lists at the same time: each has a page in memory. One that hangs does not hold up the others."""
_RELIST: Final = 1.0
"""Seconds before a new list, at most: replicas must not list in step."""


class Source(Protocol):
    """One API server: what `ApiServer` says of these."""

    def listing(self, kind: Kind, namespace: str, labels: str) -> AsyncIterator[tuple[str, Objects]]:
        """The version of a list with each of its pages."""

    def watch(
        self, kind: Kind, namespace: str, labels: str, version: str, seconds: int, silence: float
    ) -> AsyncGenerator[Object, None]:
        """Events after a version, until they end."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Objects of `kind` that `labels` select, in `namespace`; in all where that is empty."""

    kind: Kind
    namespace: str
    labels: str


class Informer:
    """Follows one scope while `run` runs. `lists` bounds how many lists are in memory at once."""

    def __init__(
        self,
        source: Source,
        scope: Scope,
        intake: Intake,
        signs: Watches,
        lists: asyncio.Semaphore,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._source = source
        self._scope = scope
        self._intake = intake
        self._signs = signs
        self._lists = lists
        self._jitter = jitter
        self._path = collection_path(scope.kind, scope.namespace)
        self._version = ""
        """Of what was seen last; empty: a list is due."""
        self._partial = False
        """Some of a list was taken, of which the rest did not come."""
        self._failures = 0

    async def run(self) -> None:
        """Until cancelled. Raises KubeError: at once where another try is of no use, else after the last of them."""
        loop = asyncio.get_running_loop()
        while True:
            began, before = loop.time(), ""
            failed: Unavailable | Throttled = Unavailable("streams end at once, and tell nothing")
            try:
                if not self._version:
                    await self._list()
                began, before = loop.time(), self._version
                await self._stream()
            except Expired as error:
                good = self._version != before or loop.time() - began >= _BRIEF
                self._version = ""
                if good:
                    await asyncio.sleep(_RELIST * self._jitter())
                failed = Unavailable(error.message, error.code)
            except (Unavailable, Throttled) as error:
                failed = error
                good = self._version != before
            else:
                good = self._version != before or loop.time() - began >= _BRIEF
            await self._after(failed, good=good)

    async def _list(self) -> None:
        """What of several lists only the earlier ones have may be gone."""
        scope, version, doubted = self._scope, "", self._partial
        async with self._lists:
            async for found, page in self._source.listing(scope.kind, scope.namespace, scope.labels):
                self._partial, doubted = True, doubted or version not in ("", found)
                version = found
                for obj in page:
                    self._intake(scope.kind, None, obj)
            # Not before: what goes between a repair and the list that it is for would be seen by neither.
            self._signs.requested(self._path, stream=False)
        self._version, self._partial = version, False
        if doubted:
            self._signs.doubted(scope.kind)

    async def _stream(self) -> None:
        """Until the stream ends. Raises KubeError, Expired where the place is forgotten."""
        scope, seconds = self._scope, random.randint(*watches.STREAM)
        self._signs.requested(self._path, stream=True)
        stream = self._source.watch(
            scope.kind, scope.namespace, scope.labels, self._version, seconds, watches.INACTIVITY
        )
        async with aclosing(stream):
            async for event in stream:
                happened, obj = event["type"], event["object"]
                if happened == "ERROR":
                    raise _error(obj)
                self._version = obj["metadata"]["resourceVersion"]
                if happened != "BOOKMARK":
                    self._intake(scope.kind, happened, obj)

    async def _after(self, failed: Unavailable | Throttled, *, good: bool) -> None:
        """Wait before the next try; not where the last one was `good`. Raises `failed` where it was the last one."""
        if good:
            self._failures = 0
            return
        if self._failures >= len(BACKOFFS):
            raise failed
        wait = BACKOFFS[self._failures] * (0.5 + 0.5 * self._jitter())
        self._failures += 1
        if self._failures > 1:
            fields = {"kind": self._scope.kind.kind, "namespace": self._scope.namespace, "error": failed.message}
            _log.warning("Watch failed", extra={**fields, "failures": self._failures})
        await asyncio.sleep(max(wait, getattr(failed, "retry_after", 0.0)))


async def follow(source: Source, namespaces: tuple[str, ...], labels: str, intake: Intake, signs: Watches) -> None:
    """Follow all FOLLOWED kinds in these namespaces, or in all, until cancelled. Raises as Informer.run, in a group."""
    lists = asyncio.Semaphore(_LISTS)
    async with asyncio.TaskGroup() as group:
        for kind in FOLLOWED:
            for namespace in namespaces or ("",):
                one = Informer(source, Scope(kind, namespace, labels), intake, signs, lists)
                group.create_task(one.run(), name=f"watch {kind.plural} {namespace}".strip())


def _error(status: Object) -> Expired | Unavailable:
    """What an event of type ERROR says."""
    code, message = int(status.get("code") or 0), f"the watch was ended: {status.get('message')}"
    return Expired(message, code) if code == Expired.CODE else Unavailable(message, code)
