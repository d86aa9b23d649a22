"""Many streams open at once, held in one thread: what each has received, and whether it has ended."""

import json
import selectors
import socket
import time
from types import TracebackType
from typing import Any

_CHUNK = 65536


class Streams:
    """Open streams of one server on the loopback; also a context that closes them."""

    def __init__(self, port: int, path: str, body: dict[str, Any], count: int) -> None:
        self.received = [bytearray() for _ in range(count)]
        self.open = 0
        self._selector = selectors.DefaultSelector()
        self._sockets: list[socket.socket] = []
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        for number in range(count):
            connection = socket.create_connection(("127.0.0.1", port), timeout=30)
            self._sockets.append(connection)
            connection.sendall(head.encode() + data)
            connection.setblocking(False)
            self._selector.register(connection, selectors.EVENT_READ, number)
            self.open += 1

    def read(self, seconds: float) -> None:
        """Take what comes, for so long, or until every stream has ended."""
        deadline = time.monotonic() + seconds
        while self.open and (left := deadline - time.monotonic()) > 0:
            for key, _ in self._selector.select(left):
                self._take(key)

    def until_all_began(self, seconds: float) -> None:
        """Read until every stream has had its first event. Fails after `seconds`."""
        deadline = time.monotonic() + seconds
        while not all(b"data:" in received for received in self.received):
            assert time.monotonic() < deadline, f"streams that began: {self.began} of {len(self.received)}"
            self.read(0.2)

    @property
    def began(self) -> int:
        """How many have had an event."""
        return sum(b"data:" in received for received in self.received)

    @property
    def done(self) -> int:
        """How many have ended in an orderly way."""
        return sum(b"[DONE]" in received for received in self.received)

    def _take(self, key: selectors.SelectorKey) -> None:
        connection = key.fileobj
        assert isinstance(connection, socket.socket)
        try:
            data = connection.recv(_CHUNK)
        except ConnectionError:
            data = b""
        self.received[key.data] += data
        # The connection may be kept after the last chunk.
        if not data or self.received[key.data].endswith(b"0\r\n\r\n"):
            self._selector.unregister(connection)
            self.open -= 1

    def __enter__(self) -> "Streams":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._sockets:
            connection.close()
        self._selector.close()
