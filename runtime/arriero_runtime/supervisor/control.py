"""The control port: /livez, /readyz, /status, /metrics. Read-only; never waits for the server."""

import socket
import socketserver
import threading
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Final

from arriero_runtime.supervisor.state import State

CONNECTIONS: Final = 32
"""At once. One more closes the oldest, so that probes get through whoever keeps connections open."""
_IDLE_SECONDS: Final = 5
_TEXT: Final = "text/plain; charset=utf-8"
_JSON: Final = "application/json"
_METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"

Answer = tuple[int, str, str]
"""Status code, content type, body."""


class Control:
    """Serves from the moment it is made. Raises OSError where the port cannot be had."""

    def __init__(self, host: str, port: int, state: State, metrics: Callable[[], str]) -> None:
        self._state = state
        self._metrics = metrics
        self._answers: dict[str, Callable[[], Answer]] = {
            "/livez": lambda: (200, _TEXT, "ok\n"),
            "/readyz": self._readyz,
            "/status": lambda: (200, _JSON, state.report().to_json() + "\n"),
            "/metrics": lambda: (200, _METRICS, self._metrics()),
        }
        self._server = _Server(host, port, self.answer)
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, name="control", daemon=True).start()

    def answer(self, path: str) -> Answer:
        """What GET `path` gets."""
        found = self._answers.get(path.split("?", 1)[0])
        if found is None:
            return 404, _TEXT, f"one of: {' '.join(self._answers)}\n"
        return found()

    def _readyz(self) -> Answer:
        why = self._state.not_ready()
        return (503, _TEXT, f"{why}\n") if why else (200, _TEXT, "ok\n")


class _Server(HTTPServer):
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, answer: Callable[[str], Answer]) -> None:
        self.answer = answer
        self._lock = threading.Lock()
        self._open: deque[socket.socket] = deque()
        wildcard = not host and socket.has_dualstack_ipv6()
        self.address_family = socket.AF_INET6 if wildcard or ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        """Without the name look-up of the standard library, which can take long in a pod."""
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "", self.server_address[1]

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        """Answer in a thread of its own."""
        assert isinstance(request, socket.socket)
        with self._lock:
            self._open.append(request)
            oldest = self._open.popleft() if len(self._open) > CONNECTIONS else None
        if oldest is not None:
            self.shutdown_request(oldest)
        threading.Thread(target=self._answer, args=(request, client_address), name="probe", daemon=True).start()

    def _answer(self, request: socket.socket, client_address: object) -> None:
        try:
            self.finish_request(request, client_address)
        except (OSError, ValueError):
            pass  # The client has gone, or was closed for a newer one.
        finally:
            with self._lock:
                if request in self._open:
                    self._open.remove(request)
            self.shutdown_request(request)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _IDLE_SECONDS

    def do_GET(self) -> None:
        """Answer and close."""
        self._reply(body=True)

    def do_HEAD(self) -> None:
        """The same without the body."""
        self._reply(body=False)

    def _reply(self, *, body: bool) -> None:
        code, content_type, text = self.server.answer(self.path)
        data = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if body:
            self.wfile.write(data)

    def version_string(self) -> str:
        """Says no version of anything."""
        return "arriero-runtime"

    def log_message(self, format: str, *args: object) -> None:
        """Probes are not logged."""
