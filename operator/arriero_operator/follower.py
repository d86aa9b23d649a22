"""Which objects of a kind and namespace there are, and in which version: followed by a watch of their metadata."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from arriero_api import labels
from arriero_operator.kube.errors import Unavailable
from arriero_operator.kube.protocol import Kind, Kube, Object

_log = logging.getLogger(__name__)

FOREIGN: Final = f"!{labels.MODEL}"
"""Children of models are not followed here. Who manages an object does not tell them apart: users may say so too."""
_FIRST: Final = 1.0
_LONGEST: Final = 60.0
"""Seconds between two tries while the watch cannot be had, or does not last."""
_BRIEF: Final = 5.0
"""Seconds that a watch lasts at least: the API server ends it after minutes, and each new one begins with a list."""


class Follower:
    """Follows from its first use on, until `stop`. `versions` are resourceVersions by name.

    `tried` is set once the first list has been had or has failed; `listed` is called with the first that is had.
    """

    def __init__(
        self, kube: Kube, kind: Kind, namespace: str, changed: Callable[[str], None], listed: Callable[[], None]
    ) -> None:
        self._kube = kube
        self._kind = kind
        self._namespace = namespace
        self._changed = changed
        self.versions: dict[str, str] = {}
        self._first = listed
        self.synced = False
        self.tried = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name=f"follow {kind.plural} {namespace}")

    def stop(self) -> None:
        """Follow no more."""
        self._task.cancel()

    async def _run(self) -> None:
        loop, pause = asyncio.get_running_loop(), _FIRST
        while True:
            began, ended = loop.time(), False
            try:
                await self._follow()
                ended = True
            except Exception as error:
                # Of whatever kind: nobody else would notice that changes are not seen any more.
                fields = {"kind": self._kind.kind, "namespace": self._namespace, "error": repr(error)}
                _log.warning("Watch of references failed", extra=fields)
            self.tried.set()
            lasted = loop.time() - began >= _BRIEF
            if lasted:
                pause = _FIRST
            if not (ended and lasted):
                await asyncio.sleep(pause)
                pause = min(_LONGEST, pause * 2)

    async def _follow(self) -> None:
        """One list and the watch that begins with it."""
        async for event in self._kube.follow(self._kind, self._namespace, FOREIGN):
            match event["type"]:
                case "LISTED":
                    self._listed(event["items"])
                case "ADDED" | "MODIFIED":
                    self._take(event["object"])
                case "DELETED":
                    self._drop(event["object"]["metadata"]["name"])
                case "ERROR":
                    raise Unavailable(f"the watch was ended: {event['object'].get('message')}")

    def _listed(self, items: list[Object]) -> None:
        for name in self.versions.keys() - {one["metadata"]["name"] for one in items}:
            self._drop(name)
        for one in items:
            self._take(one)
        if not self.synced:
            self.synced = True
            self.tried.set()
            self._first()

    def _take(self, obj: Object) -> None:
        name, version = obj["metadata"]["name"], obj["metadata"]["resourceVersion"]
        if self.versions.get(name) != version:
            self.versions[name] = version
            self._changed(name)

    def _drop(self, name: str) -> None:
        if self.versions.pop(name, None) is not None:
            self._changed(name)
