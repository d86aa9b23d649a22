"""Signs of life of the watches, told by the requests that Kopf and the informers send.

A watch is a list, then streams that the API server ends after some minutes, each followed by the next. So a watch that
sends no request for long is dead, whatever its task says; and a second list means that changes may have been lost
between it and the first.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from arriero_operator.cache.store import CACHED
from arriero_operator.kube.paths import path_of
from arriero_operator.kube.protocol import Kind

INACTIVITY: Final = 70.0
"""Seconds of silence after which a stream is begun anew: the API server sends a bookmark each minute."""
STREAM: Final = (300, 360)
"""Seconds after which the API server ends a stream: long-lived ones get lost in load balancers, and replicas must not
reconnect in step."""
DEAF: Final = 600.0
"""Seconds without a request after which a watch is dead: the longest stream (six minutes), a minute and more of
patience with one that is silent, and as much for retries."""


class Watches:
    """All watches of one operator: one for each kind in each namespace, or in all at once."""

    def __init__(self, namespaces: Iterable[str], clock: Callable[[], float] | None = None) -> None:
        places = tuple(namespaces) or ("",)
        self._paths = {path_of(kind, place): (kind, place) for kind in CACHED for place in places}
        self._clock = clock or asyncio.get_running_loop().time
        self._last: dict[tuple[Kind, str], float] = {}
        self._left: set[str] = set()
        self._relisted: Callable[[Kind], None] = lambda kind: None
        self.begun = asyncio.Event()
        """Set once every watch has listed and begun to stream, but for namespaces that were left."""

    def on_relist(self, call: Callable[[Kind], None]) -> None:
        """Call with the kind whenever a watch that has streamed lists again."""
        self._relisted = call

    def requested(self, path: str, *, stream: bool) -> None:
        """A watch sends a request: a list, or the beginning of a stream. Other paths are ignored."""
        found = next((watch for known, watch in self._paths.items() if path.endswith(known)), None)
        if found is None or found[1] in self._left:
            return
        known = found in self._last
        if known or stream:
            self._last[found] = self._clock()
        if known and not stream:
            self._relisted(found[0])
        self._look()

    def doubted(self, kind: Kind) -> None:
        """Objects of the kind may have gone without a word: as after a list anew."""
        self._relisted(kind)

    def leave(self, namespace: str) -> None:
        """It is not watched any more: nothing is expected of it."""
        self._left.add(namespace)
        self._last = {watch: last for watch, last in self._last.items() if watch[1] != namespace}
        self._look()

    def enter(self, namespace: str) -> None:
        """It is watched again, by watches that have not begun yet. What goes until then is told by nobody."""
        self._left.discard(namespace)
        for kind in CACHED:
            self._relisted(kind)

    def deaf(self) -> str:
        """Which watch is dead, in a line; empty: none. Watches that have not begun yet are not judged."""
        if not self.begun.is_set():
            return ""
        (kind, place), last = min(self._last.items(), key=lambda item: item[1])
        silent = self._clock() - last
        where = f" in namespace {place}" if place else ""
        return f"the watch of {kind.plural}{where} has sent no request for {silent:.0f} s" if silent > DEAF else ""

    def _look(self) -> None:
        if all(watch in self._last or watch[1] in self._left for watch in self._paths.values()):
            self.begun.set()
