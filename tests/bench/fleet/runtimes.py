"""One listener that answers `/status` for every fake pod, as a runtime that serves does."""

import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from arriero_api import labels, pod
from arriero_api.contract import Phase, RuntimeStatus
from tests.support.kubectl import Kubectl

_EFFECTIVE: Final[dict[str, str | int | bool]] = {"maxModelLen": 4096, "dtype": "bfloat16"}
_TOLD = labels.REGISTRATIONS.replace(".", r"\.")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        assert isinstance(self.server, _Server)
        applied = self.server.applied.get(self.connection.getsockname()[0], "")
        body = RuntimeStatus(phase=Phase.READY, registrations=applied, effective=_EFFECTIVE).to_json().encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512
    applied: dict[str, str]
    """Address of a pod to the hash of the registrations that it was told."""

    def verify_request(self, request: object, client_address: object) -> bool:
        """Fake pods have loopback addresses; nobody else is answered."""
        host = client_address[0] if isinstance(client_address, tuple) else ""
        return str(host).startswith("127.")


class Runtimes:
    """Plays the runtimes of a namespace's pods while entered: they apply at once what they are told.

    It listens on every address of this machine: loopback addresses have no wildcard of their own.
    """

    def __init__(self, kubectl: Kubectl) -> None:
        line = f'jsonpath={{.status.podIP}} {{.metadata.annotations.{_TOLD}}}{{"\\n"}}'
        self._command = kubectl.command("get", "pods", "--watch", "-o", line)
        self._env = kubectl.env

    def __enter__(self) -> "Runtimes":
        self._server = _Server(("0.0.0.0", pod.CONTROL_PORT), _Handler)
        self._server.applied = {}
        self._watch = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True, env=self._env)
        self._threads = [
            threading.Thread(target=run, daemon=True) for run in (self._server.serve_forever, self._follow)
        ]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.terminate()
        self._watch.wait()
        self._server.shutdown()
        self._server.server_close()
        for thread in self._threads:
            thread.join()

    def _follow(self) -> None:
        assert self._watch.stdout is not None
        for line in self._watch.stdout:
            address, _, told = line.strip().partition(" ")
            if told:
                self._server.applied[address] = told
