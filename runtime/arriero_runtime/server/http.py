"""uvicorn on one port, from the first second on; its life is ours, not that of signals."""

import asyncio
import contextlib
import importlib
import socket
from collections.abc import Iterator
from typing import Final, Literal

import uvicorn

from arriero_runtime.engine.protocol import AsgiApp, Scope

_CLOSE_SECONDS: Final = 2
_BACKLOG: Final = 2048
_KEEP_ALIVE_SECONDS: Final = 75
"""Longer than what usual proxies keep idle connections, so that they close first."""


class HttpServer(uvicorn.Server):
    """Without signal handlers, and able to end one connection."""

    def abort(self, scope: Scope) -> None:
        """End the connection of a request at once: what its client has not read is dropped."""
        for connection in tuple(self.server_state.connections):
            if getattr(connection, "client", None) == scope["client"] and connection.transport is not None:
                connection.transport.abort()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def make(app: AsgiApp) -> HttpServer:
    """The server for `app`; `serve(sockets=[…])` runs it until `should_exit` is set."""
    return HttpServer(
        uvicorn.Config(
            app,
            http=_connection(),
            ws="none",  # an offer of a websocket is not taken
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # they would put another address into the scope than the connection's
            timeout_graceful_shutdown=_CLOSE_SECONDS,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        )
    )


def _connection() -> type[asyncio.Protocol] | Literal["h11"]:
    """The faster parser where the engine has brought it along, with its bounds; uvicorn's other one has its own."""
    try:
        importlib.import_module("httptools")
    except ImportError:
        return "h11"
    from arriero_runtime.server.connection import Connection

    return Connection


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; an empty host means all addresses, IPv6 too where there is any. Raises OSError."""
    if host:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    if socket.has_dualstack_ipv6():
        with contextlib.suppress(OSError):
            return socket.create_server(("", port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True)
    return socket.create_server(("", port), backlog=_BACKLOG)
