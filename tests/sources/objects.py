"""An S3 server (moto's) on this machine. Google's stores list and read objects in the same way: it serves for both."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2
import obstore
from moto.server import ThreadedMotoServer
from obstore.store import S3Store

BUCKET = "models"
_ANYBODY = "AWS4-HMAC-SHA256 Credential=AKIATEST/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
KEYS = {"accessKeyId": "AKIATEST", "secretAccessKey": "s3cr3t-key"}


@dataclass(frozen=True)
class Objects:
    """`url` is the server's address; `store` writes to the bucket."""

    url: str
    store: S3Store

    def put(self, **files: bytes) -> None:
        """Objects by their path, with `__` for `/` and `_dot_` for `.`."""
        for name, content in files.items():
            self.put_at(name.replace("__", "/").replace("_dot_", "."), content)

    def put_at(self, path: str, content: bytes) -> None:
        """One object."""
        obstore.put(self.store, path, content, use_multipart=False)

    def publish(self, path: str) -> None:
        """Let everybody read an object."""
        headers = {"x-amz-acl": "public-read", "Authorization": _ANYBODY}
        httpx2.put(f"{self.url}/{BUCKET}/{path}", params={"acl": ""}, headers=headers).raise_for_status()


@contextmanager
def s3_server() -> Iterator[Objects]:
    """An empty bucket on a free port."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        _make_bucket(url)
        store = S3Store(
            BUCKET,
            endpoint=url,
            access_key_id=KEYS["accessKeyId"],
            secret_access_key=KEYS["secretAccessKey"],
            region="us-east-1",
            client_options={"allow_http": True},
        )
        yield Objects(url, store)
    finally:
        server.stop()


def _make_bucket(url: str) -> None:
    httpx2.put(f"{url}/{BUCKET}").raise_for_status()
