"""uvicorn's protocol for one connection, with what it lacks: bounds for a request's head, no upgrades, no chunks for
clients that know none, and one packet for what is written at once."""

from typing import Any, Final, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from arriero_runtime.server.outbox import Outbox, turn_of
from arriero_runtime.server.unchunked import unchunked

MAX_HEAD_BYTES: Final = 64 * 1024
"""Of a request line and its headers."""
_HOP_BY_HOP: Final = frozenset({b"connection", b"upgrade", b"http2-settings"})


class Connection(HttpToolsProtocol):
    """As its parent, but: a head that is too large is refused, one that does not come ends the connection after the
    keep-alive time, and an offer of another protocol is not taken: the request is answered as if it had none.

    Java's HTTP client, among others, offers HTTP/2 with its first request; the parent loses that request's body.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_bytes = 0
        self._in_head = True
        self._due = 0.0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.transport = cast(Any, Outbox(transport, turn_of(self.server_state)))
        self._due = self.loop.time() + self.timeout_keep_alive
        self._bound_idleness()

    def connection_lost(self, exc: Exception | None) -> None:
        """The parent leaves its timer running where the client has reset the connection: for the keep-alive time it
        would hold the connection's objects, and its last request's."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        left: bytes | None = data
        try:
            while left is not None:
                fed = len(left)
                left = self._feed(left)
        except httptools.HttpParserError:
            self.logger.warning("Invalid HTTP request received.")
            self.send_400_response("Invalid HTTP request received.")
            return
        self._bound_head(fed)
        self._bound_idleness()

    def _feed(self, data: bytes) -> bytes | None:
        """What is to be fed in place of the rest, where the parser has stopped at an offer; None where all is read.
        Raises httptools.HttpParserError."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            if self._begins_anew():
                return self._head_without_offer() + data[offer.args[0] :]
        return None

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0
        self._due = self.loop.time() + self.timeout_keep_alive

    def on_headers_complete(self) -> None:
        self._in_head = False
        if not self._offers_another_protocol():
            super().on_headers_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        run: Any = unchunked(app, cycle) if cycle.scope["http_version"] == "1.0" else app
        super()._start_asgi_task(cycle, run)

    def on_message_complete(self) -> None:
        if not self._offers_another_protocol():
            super().on_message_complete()

    def on_response_complete(self) -> None:
        self._due = self.loop.time() + self.timeout_keep_alive
        super().on_response_complete()

    def _offers_another_protocol(self) -> bool:
        return bool(self.parser.should_upgrade()) and self.parser.get_method() != b"CONNECT"

    def _begins_anew(self) -> bool:
        """A new parser in place of one that has stopped at an offer; False where there is none, as after CONNECT."""
        if not self._offers_another_protocol():
            return False
        self._version = self.parser.get_http_version().encode()
        self._method = self.parser.get_method()
        self.parser = httptools.HttpRequestParser(self)
        return True

    def _head_without_offer(self) -> bytes:
        lines = [b"%s %s HTTP/%s" % (self._method, self.url, self._version)]
        lines += [b"%s: %s" % pair for pair in self.headers if pair[0] not in _HOP_BY_HOP]
        return b"\r\n".join(lines) + b"\r\n\r\n"

    def _bound_head(self, fed: int) -> None:
        if self._in_head:
            self._head_bytes += fed
            if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response(f"A request's head may have {MAX_HEAD_BYTES // 1024} KiB.")

    def _bound_idleness(self) -> None:
        """While no request is being answered, a time runs that data alone does not renew."""
        answering = self.cycle is not None and not self.cycle.response_complete
        if not answering and self.timeout_keep_alive_task is None and not self.transport.is_closing():
            self.timeout_keep_alive_task = self.loop.call_at(self._due, self.timeout_keep_alive_handler)
