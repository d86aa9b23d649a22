"""Whether the client of a stream is still there: listened for here, with one task, for the application, which would
need a group of tasks for it."""

import asyncio
from types import TracebackType
from typing import Final, Self

from arriero_runtime.engine.protocol import Receive, Scope

_NOBODY_LISTENS: Final = "2.4"
"""The version of ASGI from which on an application that streams need not listen for its client's leaving."""


def listened(scope: Scope) -> Scope:
    """The request, for an application whose streams are ended by a `Presence`."""
    return {**scope, "asgi": {**scope.get("asgi", {}), "spec_version": _NOBODY_LISTENS}}


class Presence:
    """A context that is ended when the client leaves after `listen`: what runs in it is cancelled, as it would be by
    the application itself, and nothing is raised."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._listening: asyncio.Task[None] | None = None
        self._until = asyncio.timeout(None)

    async def __aenter__(self) -> Self:
        await self._until.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if self._listening is not None:
            self._listening.cancel()
        try:
            await self._until.__aexit__(kind, error, trace)
        except TimeoutError:
            return True
        return False

    def listen(self) -> None:
        """From now on, as the application has begun to stream."""
        self._listening = asyncio.get_running_loop().create_task(self._listen())

    async def _listen(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._until.reschedule(0)
