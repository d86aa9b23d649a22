"""Children and pods of models, followed by an informer for each kind in each namespace, or in all.

What fails time after time for about a minute is raised, and so is at once what no other try mends: it ends the process.
"""

import asyncio
import logging
from typing import Final

from arriero_operator.kube.errors import Throttled, Unavailable
from arriero_operator.kube.paths import path_of
from arriero_operator.kube.protocol import CHILDREN, PODS, Object, Objects, Scope, Source
from arriero_operator.watching.informer import LISTS, Informer
from arriero_operator.watching.intake import Intake
from arriero_operator.watching.watches import Watches

_log = logging.getLogger(__name__)

FOLLOWED: Final = (*CHILDREN, PODS)
BACKOFFS: Final = (1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0)
"""Seconds between two tries, before jitter; after the last one the failure is raised."""


class Child:
    """Takes what is told of a scope to the intake, and its signs of life to the watches."""

    def __init__(self, scope: Scope, intake: Intake, signs: Watches) -> None:
        self._scope = scope
        self._intake = intake
        self._signs = signs
        self._path = path_of(scope.kind, scope.namespace)

    def page(self, version: str, objects: Objects) -> None:
        """As Listener.page."""
        for obj in objects:
            self._intake(self._scope.kind, None, obj)

    def listed(self, *, doubted: bool) -> None:
        """As Listener.listed: `Watches` has repaired what went."""
        # Not before: what goes between a repair and the list that it is for would be seen by neither.
        self._signs.requested(self._path, stream=False)
        if doubted:
            self._signs.doubted(self._scope.kind)

    def streams(self) -> None:
        """As Listener.streams."""
        self._signs.requested(self._path, stream=True)

    def event(self, happened: str, obj: Object) -> None:
        """As Listener.event."""
        self._intake(self._scope.kind, happened, obj)

    def failed(self, error: Exception, times: int) -> float:
        """As Listener.failed."""
        if times > len(BACKOFFS) or not isinstance(error, Unavailable | Throttled):
            raise error
        if times > 1:
            fields = {"kind": self._scope.kind.kind, "namespace": self._scope.namespace, "error": error.message}
            _log.warning("Watch failed", extra={**fields, "failures": times})
        return BACKOFFS[times - 1]


def lists_at_once() -> asyncio.Semaphore:
    """What all that follow share, as each list has a page in memory."""
    return asyncio.Semaphore(LISTS)


async def follow(
    source: Source, namespace: str, labels: str, intake: Intake, signs: Watches, lists: asyncio.Semaphore
) -> None:
    """Follow all FOLLOWED kinds in a namespace, or with an empty one in all, until cancelled; `lists` is taken for
    each list. Raises as Informer.run, in a group."""
    async with asyncio.TaskGroup() as group:
        for kind in FOLLOWED:
            scope = Scope(kind, namespace, labels)
            one = Informer(source, scope, Child(scope, intake, signs), lists)
            group.create_task(one.run(), name=f"watch {kind.plural} {namespace}".strip())
