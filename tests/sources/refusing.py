"""A server that gives the same answer to everybody."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.threaded import http_server


@contextmanager
def refusing(status: int, body: str, **headers: str) -> Iterator[str]:
    """Its address."""
    content = body.encode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    with http_server(Handler) as port:
        yield f"http://127.0.0.1:{port}"
