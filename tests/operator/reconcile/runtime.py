"""A scripted stand-in of the runtime's control port: it answers GET /status with what the test says."""

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from arriero_api.contract import Phase, RuntimeStatus
from arriero_api.pod import CONTROL_PORT
from tests.support.threaded import http_server

_numbers = itertools.count(1)


@dataclass
class ScriptedRuntime:
    """`status` may be replaced at any time; `asked` counts the questions."""

    ip: str
    status: RuntimeStatus = field(default_factory=lambda: RuntimeStatus(Phase.RESOLVING))
    asked: int = 0


@contextmanager
def scripted_runtime() -> Iterator[ScriptedRuntime]:
    """A runtime at a loopback address of its own."""
    # Addresses of several test processes at once do not meet.
    process, place = divmod(os.getpid(), 100)
    runtime = ScriptedRuntime(f"127.{100 + place}.{process % 256}.{1 + next(_numbers) % 250}")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            runtime.asked += 1
            body = runtime.status.to_json().encode()
            self.send_response(200 if self.path == "/status" else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    with http_server(Handler, runtime.ip, CONTROL_PORT):
        yield runtime
