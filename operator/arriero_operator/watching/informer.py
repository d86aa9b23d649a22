"""The objects of one scope: listed once, then followed by streams that continue each other.

A place that the API server has forgotten (410) is followed by a new list, which tells of no object that went meanwhile:
that is the listener's to find. Streams that end, are cut or fall silent are begun anew.
"""

import asyncio
import random
from collections.abc import Callable
from contextlib import aclosing
from typing import Final, Protocol

from arriero_operator.kube.errors import Expired, Throttled, Unavailable
from arriero_operator.kube.protocol import Object, Objects, Scope, Source
from arriero_operator.watching import watches

LISTS: Final = 2
"""Lists at the same time: each has a page in memory. One that hangs does not hold up the others."""
_BRIEF: Final = 1.0
"""Seconds that a stream lasts at least where nothing is wrong, unless it tells of something."""
_RELIST: Final = 1.0
"""Seconds before a new list, at most: replicas must not list in step."""


class Listener(Protocol):
    """Who is told of a scope. Nothing here waits; what it raises is a failure of the scope like any other."""

    def page(self, version: str, objects: Objects) -> None:
        """Some objects of a list of that version. The next page may be of another one, which begins anew."""

    def listed(self, *, doubted: bool) -> None:
        """A list is had to its end. `doubted`: what of several lists only the earlier ones had may be gone."""

    def streams(self) -> None:
        """A stream is asked for."""

    def event(self, happened: str, obj: Object) -> None:
        """A watch's event, no bookmark and no error; `happened` is its type."""

    def failed(self, error: Exception, times: int) -> float:
        """The `times`-th failure without a success in between: seconds until the next try, before jitter down to a
        half. Raises `error` where there is to be none."""


class Informer:
    """Follows one scope while `run` runs. `lists` bounds how many lists are in memory at once."""

    def __init__(
        self,
        source: Source,
        scope: Scope,
        listener: Listener,
        lists: asyncio.Semaphore,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._source = source
        self._scope = scope
        self._listener = listener
        self._lists = lists
        self._jitter = jitter
        self._version = ""
        """Of what was seen last; empty: a list is due."""
        self._partial = False
        """Some of a list was taken, of which the rest did not come."""
        self._failures = 0

    async def run(self) -> None:
        """Until cancelled. Raises what the listener does not want to be tried again."""
        loop = asyncio.get_running_loop()
        while True:
            began, before = loop.time(), ""
            failed: Exception = Unavailable("streams end at once, and tell nothing")
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
            except Exception as error:
                # No right, or a fault of ours: what was told is not sure to have been taken.
                failed, good, self._version = error, False, ""
            else:
                good = self._version != before or loop.time() - began >= _BRIEF
            await self._after(failed, good=good)

    async def _list(self) -> None:
        version, doubted = "", self._partial
        async with self._lists:
            async for found, page in self._source.listing(self._scope):
                self._partial, doubted = True, doubted or version not in ("", found)
                version = found
                self._listener.page(found, page)
            self._listener.listed(doubted=doubted)
        self._version, self._partial = version, False

    async def _stream(self) -> None:
        """Until the stream ends. Raises KubeError, Expired where the place is forgotten."""
        self._listener.streams()
        seconds, silence = random.randint(*watches.STREAM), watches.INACTIVITY
        stream = self._source.watch(self._scope, self._version, seconds=seconds, silence=silence)
        async with aclosing(stream):
            async for event in stream:
                happened, obj = event["type"], event["object"]
                if happened == "ERROR":
                    raise _error(obj)
                self._version = obj["metadata"]["resourceVersion"]
                if happened != "BOOKMARK":
                    self._listener.event(happened, obj)

    async def _after(self, failed: Exception, *, good: bool) -> None:
        """Wait before the next try; not where the last one was `good`."""
        if good:
            self._failures = 0
            return
        self._failures += 1
        wait = self._listener.failed(failed, self._failures) * (0.5 + 0.5 * self._jitter())
        await asyncio.sleep(max(wait, getattr(failed, "retry_after", 0.0)))


def _error(status: Object) -> Expired | Unavailable:
    """What an event of type ERROR says."""
    code, message = int(status.get("code") or 0), f"the watch was ended: {status.get('message')}"
    return Expired(message, code) if code == Expired.CODE else Unavailable(message, code)
