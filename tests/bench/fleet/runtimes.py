"""One listener that answers `/status` for every fake pod, as a runtime that serves does."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from arriero_api import pod
from arriero_api.contract import Phase, RuntimeStatus

_BODY = RuntimeStatus(phase=Phase.READY, effective={"maxModelLen": 4096, "dtype": "bfloat16"}).to_json().encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(_BODY)))
        self.end_headers()
        self.wfile.write(_BODY)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512
    allow_reuse_port = True

    def verify_request(self, request: object, client_address: object) -> bool:
        """Fake pods have loopback addresses; nobody else is answered."""
        host = client_address[0] if isinstance(client_address, tuple) else ""
        return str(host).startswith("127.")


class Runtimes:
    """Listens on every address of this machine while entered: loopback addresses have no wildcard of their own."""

    def __enter__(self) -> "Runtimes":
        json.loads(_BODY)
        self._server = _Server(("0.0.0.0", pod.CONTROL_PORT), _Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, name="runtimes", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
