"""What is written in one turn of the event loop is sent at its end, and what goes to one client leaves at once.

A step of the engine brings each stream its token in the same turn. Sent one by one in between, each wakes its reader
and costs the loop its processor and its caches; a stream's head and first event, and its last three, would each be a
packet and a call of the kernel more.
"""

import asyncio
from typing import Any, Final
from weakref import WeakKeyDictionary

FULL: Final = 16 * 1024
"""Bytes; so many are sent at once, so that the transport tells when its client does not read."""
_TURNS: Final[WeakKeyDictionary[object, "Turn"]] = WeakKeyDictionary()


def turn_of(server: object) -> "Turn":
    """One for all connections of a server."""
    return _TURNS.setdefault(server, Turn())


class Turn:
    """The outboxes of one server that have something to send."""

    def __init__(self) -> None:
        self._due: list[Outbox] = []

    def add(self, box: "Outbox") -> None:
        """Send it at the turn's end."""
        if not self._due:
            asyncio.get_running_loop().call_soon(self._send)
        self._due.append(box)

    def _send(self) -> None:
        due, self._due = self._due, []
        for box in due:
            box.send()


class Outbox:
    """A transport, as uvicorn's cycle of request and response uses one."""

    def __init__(self, transport: asyncio.Transport, turn: Turn) -> None:
        self._transport = transport
        self._turn = turn
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """As the transport's, but later."""
        if not self._parts:
            self._turn.add(self)
        self._parts.append(data)
        self._size += len(data)
        if self._size > FULL:
            self.send()

    def send(self) -> None:
        """What there is, now."""
        if self._parts:
            data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            self._parts.clear()
            self._size = 0
            if not self._transport.is_closing():
                self._transport.write(data)

    def close(self) -> None:
        """As the transport's: what was written is sent first."""
        self.send()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        """All else is the transport's."""
        return getattr(self._transport, name)
