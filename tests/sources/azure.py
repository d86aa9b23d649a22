"""FAKE: a storage account of Azure, as far as a reader needs one: list a container, read blobs or parts of them, for
requests that are signed with the account's key or carry its shared access signature, as Microsoft describes both."""

import base64
import hashlib
import hmac
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.support.threaded import http_server

ACCOUNT: Final = "models"
KEY: Final = base64.b64encode(b"the key of the account").decode()
SAS: Final = "sv=2024-11-04&ss=b&srt=co&sp=rl&sig=c2lnbmF0dXJl"
_SIGNED: Final = (
    *("Content-Encoding", "Content-Language", "Content-Length", "Content-MD5", "Content-Type", "Date"),
    *("If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range"),
)
_DATE: Final = formatdate(1_700_000_000, usegmt=True)


@dataclass(frozen=True)
class AzureAccount:
    """`url` is its address; `blobs` is container → path → content."""

    url: str
    blobs: Mapping[str, Mapping[str, bytes]]


def _mark(content: bytes) -> str:
    return f'"0x{hashlib.sha256(content).hexdigest()[:16].upper()}"'


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    blobs: Mapping[str, Mapping[str, bytes]]

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        container, _, path = unquote(parts.path).lstrip("/").partition("/")
        if not self._may(parts.path, query):
            self._refuse(403, "AuthenticationFailed")
        elif container not in self.blobs:
            self._refuse(404, "ContainerNotFound")
        elif query.get("comp") == "list":
            self._list(self.blobs[container], query.get("prefix", ""))
        elif path not in self.blobs[container]:
            self._refuse(404, "BlobNotFound")
        else:
            self._give(self.blobs[container][path])

    def _may(self, path: str, query: dict[str, str]) -> bool:
        if "sig" in query:
            return dict(parse_qsl(SAS)).items() <= query.items()
        names = sorted(name.lower() for name in self.headers if name.lower().startswith("x-ms-"))
        lines = ["GET", *(self.headers.get(name, "") for name in _SIGNED)]
        lines[3] = lines[3].removeprefix("0")  # A length of nothing is signed as none.
        lines += [f"{name}:{self.headers[name].strip()}" for name in names]
        lines += [f"/{ACCOUNT}{path}", *(f"{name.lower()}:{value}" for name, value in sorted(query.items()))]
        made = hmac.new(base64.b64decode(KEY), "\n".join(lines).encode(), hashlib.sha256).digest()
        return self.headers.get("Authorization") == f"SharedKey {ACCOUNT}:{base64.b64encode(made).decode()}"

    def _list(self, blobs: Mapping[str, bytes], prefix: str) -> None:
        found = "".join(
            f"<Blob><Name>{escape(path)}</Name><Properties><Last-Modified>{_DATE}</Last-Modified>"
            f"<Etag>{escape(_mark(content))}</Etag><Content-Length>{len(content)}</Content-Length>"
            "<Content-Type>application/octet-stream</Content-Type><BlobType>BlockBlob</BlobType></Properties></Blob>"
            for path, content in sorted(blobs.items())
            if path.startswith(prefix)
        )
        xml = f"<?xml version='1.0'?><EnumerationResults><Blobs>{found}</Blobs><NextMarker /></EnumerationResults>"
        self._send(200, xml.encode(), {"Content-Type": "application/xml"})

    def _give(self, content: bytes) -> None:
        told = {"ETag": _mark(content), "Last-Modified": _DATE, "x-ms-blob-type": "BlockBlob"}
        if self.headers.get("If-Match", _mark(content)) != _mark(content):
            self._refuse(412, "ConditionNotMet")
        elif wanted := self.headers.get("Range"):
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            end = min(int(last), len(content) - 1) if last else len(content) - 1
            told["Content-Range"] = f"bytes {first}-{end}/{len(content)}"
            self._send(206, content[int(first) : end + 1], told)
        else:
            self._send(200, content, told)

    def _refuse(self, status: int, code: str) -> None:
        self._send(status, f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>no</Message></Error>".encode(), {})

    def _send(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@contextmanager
def azure_account(blobs: Mapping[str, Mapping[str, bytes]]) -> Iterator[AzureAccount]:
    """On a free port."""
    handler = type("Handler", (_Handler,), {"blobs": blobs})
    with http_server(handler) as port:
        yield AzureAccount(f"http://127.0.0.1:{port}", blobs)
