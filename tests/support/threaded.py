"""Small servers of a test's own, in a thread."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_LOOK_SECONDS = 0.05


@contextmanager
def serving(server: socketserver.BaseServer) -> Iterator[None]:
    """It serves until the end of the block, and is closed then."""
    thread = threading.Thread(target=server.serve_forever, args=(_LOOK_SECONDS,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)


@contextmanager
def http_server(handler: type[BaseHTTPRequestHandler], host: str = "127.0.0.1", port: int = 0) -> Iterator[int]:
    """The port that it serves on, by default a free one; each request in a thread that nobody waits for."""
    server = ThreadingHTTPServer((host, port), handler)
    server.daemon_threads = True
    with serving(server):
        yield server.server_port
