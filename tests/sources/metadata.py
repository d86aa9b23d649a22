"""A stand-in for the metadata servers of Amazon's and Google's clouds, which tell a machine who it is."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.threaded import http_server

_ROLES = "/latest/meta-data/iam/security-credentials/"
_KEYS = {
    "Code": "Success",
    "AccessKeyId": "of-the-node",
    "SecretAccessKey": "secret",
    "Token": "session",
    "Expiration": "2099-01-01T00:00:00Z",
}
_ANSWERS = {
    "/latest/api/token": "leave",
    _ROLES: "role",
    f"{_ROLES}role": json.dumps(_KEYS),
    "/computeMetadata/v1/instance/service-accounts/default/token": json.dumps(
        {"access_token": "of-the-node", "expires_in": 3600, "token_type": "Bearer"}
    ),
}


@dataclass
class Metadata:
    """`host` is address and port; `asked` the paths of requests."""

    host: str = ""
    asked: list[str] = field(default_factory=list)


@contextmanager
def metadata_server(*, knows: bool = True) -> Iterator[Metadata]:
    """One that has no identity to give, where it knows nothing."""
    found = Metadata()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found.asked.append(self.path)
            path = self.path.partition("?")[0]
            content = _ANSWERS.get(path, "").encode() if knows else b""
            self.send_response(200 if content else 404)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_PUT = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    with http_server(Handler) as port:
        found.host = f"127.0.0.1:{port}"
        yield found
