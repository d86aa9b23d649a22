"""The child's log: copied byte for byte to the own standard output, and to the parser, neither of which can stop it.

A full pipe stops the engine, so the pipe is always read. What a slow reader cannot take is kept up to a bound; beyond
it the oldest bytes are dropped and the gap is told.
"""

import os
import select
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

_CHUNK: Final = 64 * 1024
_LINE: Final = 64 * 1024


class Copy:
    """A bounded buffer with a thread that hands its bytes to `sink`. `offer` never waits."""

    def __init__(self, name: str, limit: int, sink: Callable[[bytes], None], *, tell_gaps: bool = False) -> None:
        self.bytes_total = 0
        self.dropped_total = 0
        self._limit = limit
        self._sink = sink
        self._tell_gaps = tell_gaps
        self._gap = 0
        self._held = 0
        self._chunks: deque[bytes] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def offer(self, chunk: bytes) -> None:
        """Take `chunk`, at the cost of the oldest bytes where there is no room."""
        with self._changed:
            self.bytes_total += len(chunk)
            self._chunks.append(chunk)
            self._held += len(chunk)
            while self._held > self._limit:
                oldest = len(self._chunks.popleft())
                self._held -= oldest
                self._gap += oldest
                self.dropped_total += oldest
            self._changed.notify()

    def close(self, seconds: float) -> bool:
        """Take no more and wait up to `seconds` until all has been handed over."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (chunk := self._next()) is not None:
            try:
                self._sink(chunk)
            except OSError:
                return

    def _next(self) -> bytes | None:
        with self._changed:
            while not self._chunks and not self._closed:
                self._changed.wait()
            if not self._chunks:
                return None
            chunk = self._chunks.popleft()
            self._held -= len(chunk)
            gap, self._gap = self._gap, 0
        if gap and self._tell_gaps:
            return b"\narriero-runtime: %d bytes of log were dropped: its reader is too slow\n" % gap + chunk
        return chunk


def write_fully(descriptor: int) -> Callable[[bytes], None]:
    """A sink that writes to a file descriptor, as slowly as its reader reads; also where it was made not to wait."""

    def write(chunk: bytes) -> None:
        rest = memoryview(chunk)
        while rest:
            try:
                rest = rest[os.write(descriptor, rest) :]
            except BlockingIOError:
                select.select([], [descriptor], [])

    return write


class Lines:
    """A sink that cuts bytes into lines. Progress bars end lines with a carriage return; overlong lines are cut."""

    def __init__(self, take: Callable[[str], None]) -> None:
        self._take = take
        self._rest = b""

    def __call__(self, chunk: bytes) -> None:
        *lines, rest = (self._rest + chunk).replace(b"\r", b"\n").split(b"\n")
        if len(rest) > _LINE:
            lines.append(rest[:_LINE])
            rest = b""
        self._rest = rest
        for line in lines:
            self._take(line.decode(errors="replace"))

    def finish(self) -> None:
        """The last line, where its end is missing."""
        if self._rest:
            self._take(self._rest.decode(errors="replace"))
            self._rest = b""


class Pump:
    """The thread that empties the pipe into the copies until every writer has closed it."""

    def __init__(self, descriptor: int, copies: tuple[Copy, ...]) -> None:
        self._descriptor = descriptor
        self._copies = copies
        self._thread = threading.Thread(target=self._run, name="log-pump", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while chunk := os.read(self._descriptor, _CHUNK):
            for copy in self._copies:
                copy.offer(chunk)
        os.close(self._descriptor)

    def join(self, seconds: float) -> bool:
        """Wait up to `seconds` for the end of the log."""
        self._thread.join(seconds)
        return not self._thread.is_alive()
