"""One watch of each kind over all namespaces of a control plane, shared by the operators that tests run in-process."""

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress

import aiohttp

from arriero_api import labels
from arriero_operator.cache.keys import selector
from arriero_operator.cache.store import CACHED
from arriero_operator.kube.paths import path_of
from arriero_operator.kube.protocol import MODELS, PODS, Kind, Object

Take = Callable[[Kind, str | None, Object], None]
"""Takes an event as `arriero_operator.watching.intake` does: its kind, its type, the object."""


class Feed:
    """The objects that the operator watches, as they stand, and who is told of their changes."""

    def __init__(self, server: str) -> None:
        """`server` answers without credentials: a proxy with the admin's rights."""
        self._server = server
        self._takers: dict[str, Take] = {}
        self.objects: dict[Kind, dict[tuple[str, str], Object]] = {kind: {} for kind in CACHED}
        self.on_pod: Callable[[Object], None] = lambda pod: None
        self._begun = {kind: asyncio.Event() for kind in CACHED}

    async def run(self) -> None:
        """Watch until cancelled."""
        async with aiohttp.ClientSession(self._server) as session, asyncio.TaskGroup() as group:
            for kind in CACHED:
                group.create_task(self._watch(session, kind))

    async def begun(self) -> None:
        """Wait until every kind has been listed."""
        await asyncio.gather(*(event.wait() for event in self._begun.values()))

    def join(self, namespace: str, take: Take) -> None:
        """Hand the namespace's events to `take`."""
        self._takers[namespace] = take

    def leave(self, namespace: str) -> None:
        """Nobody of the namespace listens any more."""
        self._takers.pop(namespace, None)

    def of(self, kind: Kind, namespace: str) -> list[Object]:
        """Objects of a kind in a namespace, by name."""
        return [obj for (place, _), obj in sorted(self.objects[kind].items()) if place == namespace]

    async def _watch(self, session: aiohttp.ClientSession, kind: Kind) -> None:
        query = {} if kind is MODELS else {"labelSelector": selector(labels.DEFAULT_CLASS)}
        listed = await self._list(session, kind, query)
        for obj in listed["items"]:
            self._tell(kind, None, obj)
        version = listed["metadata"]["resourceVersion"]
        self._begun[kind].set()
        while True:
            stream = {**query, "watch": "true", "resourceVersion": version, "timeoutSeconds": "600"}
            timeout = aiohttp.ClientTimeout(total=None)
            with suppress(aiohttp.ClientConnectionError, aiohttp.ClientPayloadError):
                async with session.get(path_of(kind, ""), params=stream, timeout=timeout) as answer:
                    while line := await answer.content.readuntil():
                        event = json.loads(line)
                        version = event["object"]["metadata"]["resourceVersion"]
                        self._tell(kind, event["type"], event["object"])

    async def _list(self, session: aiohttp.ClientSession, kind: Kind, query: Mapping[str, str]) -> Object:
        """A kind that was just made known is served after a moment: until then the API server says 429."""
        while True:
            async with session.get(path_of(kind, ""), params=query) as answer:
                listed: Object = await answer.json(content_type=None)
            if answer.status != 429:
                assert answer.status == 200, listed
                return listed
            await asyncio.sleep(0.2)

    def _tell(self, kind: Kind, happened: str | None, obj: Object) -> None:
        namespace, name = obj["metadata"]["namespace"], obj["metadata"]["name"]
        if happened == "DELETED":
            self.objects[kind].pop((namespace, name), None)
        else:
            self.objects[kind][namespace, name] = obj
        if kind is PODS:
            self.on_pod(obj)
        if take := self._takers.get(namespace):
            take(kind, happened, obj)
