"""Which objects of a kind and namespace there are, and in which version: followed by their metadata alone."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from arriero_api import labels
from arriero_operator.kube.protocol import Kind, Object, Objects, Scope, Source
from arriero_operator.watching.informer import Informer

_log = logging.getLogger(__name__)

FOREIGN: Final = f"!{labels.MODEL}"
"""Children of models are not followed here. Who manages an object does not tell them apart: users may say so too."""
_LONGEST: Final = 60.0
"""Seconds between two tries, before jitter: the first ones come earlier, and none is the last one."""


class Follower:
    """Follows from its first use on, until `stop`. `versions` are resourceVersions by name.

    `tried` is set once the first list has been had or has failed; `listed` is called with the first that is had.
    `changed` is called with the name of each object that has come, gone or become another.
    """

    def __init__(
        self,
        source: Source,
        kind: Kind,
        namespace: str,
        changed: Callable[[str], None],
        listed: Callable[[], None],
        lists: asyncio.Semaphore,
    ) -> None:
        self._scope = Scope(kind, namespace, FOREIGN, metadata_only=True)
        self._changed = changed
        self._first = listed
        self._listing = ""
        self._names: set[str] = set()
        """What there is by the list of version `_listing`, as far as it has come."""
        self.versions: dict[str, str] = {}
        self.synced = False
        self.tried = asyncio.Event()
        informer = Informer(source, self._scope, self, lists)
        self._task = asyncio.create_task(informer.run(), name=f"follow {kind.plural} {namespace}")

    def stop(self) -> None:
        """Follow no more."""
        self._task.cancel()

    def page(self, version: str, objects: Objects) -> None:
        """As Listener.page."""
        if version != self._listing:
            self._listing, self._names = version, set()
        for one in objects:
            self._names.add(one["metadata"]["name"])
            self._take(one)

    def listed(self, *, doubted: bool) -> None:
        """As Listener.listed: what is not of the last one is gone, so that there is no doubt."""
        for name in self.versions.keys() - self._names:
            self._drop(name)
        self._listing, self._names = "", set()
        if not self.synced:
            self.synced = True
            self.tried.set()
            self._first()

    def streams(self) -> None:
        """As Listener.streams: nobody asks whether these watches live, as none of them gives up."""

    def event(self, happened: str, obj: Object) -> None:
        """As Listener.event."""
        if happened == "DELETED":
            self._drop(obj["metadata"]["name"])
        else:
            self._take(obj)

    def failed(self, error: Exception, times: int) -> float:
        """As Listener.failed; nobody else would notice that changes are not seen any more, so that it is never over."""
        fields = {"kind": self._scope.kind.kind, "namespace": self._scope.namespace, "error": repr(error)}
        _log.warning("Watch of references failed", extra={**fields, "failures": times})
        self.tried.set()
        return min(_LONGEST, 2.0 ** min(times - 1, 10))

    def _take(self, obj: Object) -> None:
        name, version = obj["metadata"]["name"], obj["metadata"]["resourceVersion"]
        if self.versions.get(name) != version:
            self.versions[name] = version
            self._changed(name)

    def _drop(self, name: str) -> None:
        if self.versions.pop(name, None) is not None:
            self._changed(name)
