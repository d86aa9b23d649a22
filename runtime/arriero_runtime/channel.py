"""The way between supervisor and server: messages as lines over one inherited socket pair. Standard library only.

Sending never waits; receiving waits in a thread (`messages`) or reads what is there (`poll`).
"""

import contextlib
import os
import select
import socket
import threading
import time
from collections.abc import Iterator
from typing import Final, Self

from arriero_runtime.messages import DROPPABLE, Message, MessageError, decode, encode

FD_VARIABLE: Final = "ARRIERO_CHANNEL_FD"
"""Environment variable of the server: the number of its end of the socket pair."""
PENDING_BYTES: Final = 4 * 1024 * 1024
"""Most that a sender keeps for a receiver that does not read."""
LINE_BYTES: Final = 4 * 1024 * 1024
_READ_BYTES: Final = 64 * 1024


class Channel:
    """One end of the socket pair. `send` may be called from several threads, receiving is for one."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._lock = threading.Lock()
        self._pending = bytearray()
        self._received = bytearray()
        self._open = True

    @classmethod
    def from_environment(cls) -> Self | None:
        """The server's end, or None where no supervisor has started this process. Takes the variable away, so that
        the engine's processes do not see it."""
        number = os.environ.pop(FD_VARIABLE, None)
        if number is None:
            return None
        os.set_inheritable(int(number), False)
        return cls(socket.socket(fileno=int(number)))

    def fileno(self) -> int:
        """For an event loop that waits until there is something to `poll`."""
        return self._socket.fileno()

    def send(self, message: Message) -> bool:
        """Hand over a message without ever waiting; False where it is lost.

        Behind a full socket, heartbeats and snapshots are dropped; the others are kept up to a bound and go out with
        the next `send` or `flush`.
        """
        with self._lock:
            self._write()
            if not self._open or (self._pending and isinstance(message, DROPPABLE)):
                return False
            line = encode(message)
            if len(self._pending) + len(line) > PENDING_BYTES:
                return False
            self._pending += line
            self._write()
            return self._open

    def flush(self, seconds: float) -> bool:
        """Wait up to `seconds` until all that was kept is handed over; for the last words before an exit."""
        deadline = time.monotonic() + seconds
        while True:
            with self._lock:
                self._write()
                if not self._pending or not self._open:
                    return self._open
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            select.select([], [self._socket], [], left)

    def _write(self) -> None:
        while self._pending and self._open:
            try:
                sent = self._socket.send(self._pending, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
            except BlockingIOError:
                return
            except OSError:
                self._open = False
                self._pending.clear()
                return
            del self._pending[:sent]

    def messages(self) -> Iterator[Message]:
        """Messages as they come, waiting for each; ends when the other side has gone. Lines that are no known message
        (a newer writer) are passed over."""
        while self._read(0):
            yield from self._complete()

    def poll(self) -> tuple[list[Message], bool]:
        """The messages that are there, without waiting, and whether the other side is still there."""
        alive = True
        with contextlib.suppress(BlockingIOError):
            while alive:
                alive = self._read(socket.MSG_DONTWAIT)
        return list(self._complete()), alive

    def _read(self, flags: int) -> bool:
        try:
            data = self._socket.recv(_READ_BYTES, flags)
        except BlockingIOError:
            raise
        except OSError:
            return False
        self._received += data
        return bool(data)

    def _complete(self) -> Iterator[Message]:
        while (end := self._received.find(b"\n")) >= 0:
            line = bytes(self._received[:end])
            del self._received[: end + 1]
            with contextlib.suppress(MessageError):
                yield decode(line)
        if len(self._received) > LINE_BYTES:
            self._received.clear()

    def close(self) -> None:
        """A waiting `messages` of this side ends too. Harmless when repeated."""
        with self._lock:
            self._open = False
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def pair() -> tuple[Channel, socket.socket]:
    """The supervisor's end, and the socket that the server inherits (its number goes into `FD_VARIABLE`)."""
    ours, theirs = socket.socketpair()
    return Channel(ours), theirs
