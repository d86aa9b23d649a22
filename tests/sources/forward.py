"""A small forward proxy: absolute requests and CONNECT tunnels, with a user and password where a test wants that."""

import base64
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

from tests.support.threaded import http_server

_CHUNK = 65_536


@dataclass
class ForwardProxy:
    """`url` has the user and password in it. `targets` is what was asked for, oldest first: `CONNECT HOST:PORT` or
    `GET http://…`. `cuts`: end of a path → bytes after which one answer for it breaks off; used up in their order."""

    url: str = ""
    targets: list[str] = field(default_factory=list)
    cuts: list[tuple[str, int]] = field(default_factory=list)

    def take_cut(self, path: str) -> int | None:
        """After how many bytes the answer for a path is to break off; None for never."""
        found = next((cut for cut in self.cuts if path.endswith(cut[0])), None)
        if found is None:
            return None
        self.cuts.remove(found)
        return found[1]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wanted: str
    proxy: ForwardProxy

    def do_CONNECT(self) -> None:
        """A tunnel of bytes."""
        if not self._allowed():
            return
        host, _, port = self.path.rpartition(":")
        with socket.create_connection((host.strip("[]"), int(port)), timeout=10) as upstream:
            self.send_response(200)
            self.end_headers()
            _tunnel(self.connection, upstream)
        self.close_connection = True

    def do_GET(self) -> None:
        """An absolute request over plain HTTP, passed on with its headers."""
        if not self._allowed():
            return
        parts = urlsplit(self.path)
        path = parts._replace(scheme="", netloc="").geturl() or "/"
        lines = [f"{self.command} {path} HTTP/1.1", "Connection: close"]
        own = {"connection", "proxy-connection", "proxy-authorization"}
        lines += [f"{name}: {value}" for name, value in self.headers.items() if name.lower() not in own]
        with socket.create_connection((parts.hostname, parts.port or 80), timeout=10) as upstream:
            upstream.sendall("\r\n".join([*lines, "", ""]).encode())
            left = self.proxy.take_cut(self.path)
            while (left is None or left > 0) and (chunk := upstream.recv(_CHUNK)):
                self.connection.sendall(chunk[:left])
                left = None if left is None else left - len(chunk)
        self.close_connection = True

    do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def _allowed(self) -> bool:
        self.proxy.targets.append(f"{self.command} {self.path}")
        if not self.wanted or self.headers.get("Proxy-Authorization") == self.wanted:
            return True
        self.send_response(407)
        self.send_header("Proxy-Authenticate", 'Basic realm="proxy"')
        self.send_header("Content-Length", "0")
        self.end_headers()
        return False


@contextmanager
def forward_proxy(user: str = "") -> Iterator[ForwardProxy]:
    """On a free port. `user` is "name:password", empty for everybody."""
    wanted = f"Basic {base64.b64encode(user.encode()).decode()}" if user else ""
    proxy = ForwardProxy()
    with http_server(type("Handler", (_Handler,), {"wanted": wanted, "proxy": proxy})) as port:
        proxy.url = f"http://{user}@127.0.0.1:{port}" if user else f"http://127.0.0.1:{port}"
        yield proxy


def _tunnel(one: socket.socket, other: socket.socket) -> None:
    """Bytes both ways until one side ends."""
    pairs = {one: other, other: one}
    while True:
        ready, _, _ = select.select(list(pairs), [], [], 10)
        for side in ready:
            chunk = side.recv(_CHUNK)
            if not chunk:
                return
            pairs[side].sendall(chunk)
        if not ready:
            return
