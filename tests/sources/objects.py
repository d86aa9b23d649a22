"""An S3 server (moto's) on this machine. Google's stores list and read objects in the same way: it serves for both."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import obstore
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from obstore.store import S3Store
from werkzeug.serving import make_server

from tests.cluster.certificates import Authority
from tests.support.threaded import serving

if TYPE_CHECKING:
    from obstore.store import ClientConfig  # not there at run time

BUCKET = "models"
_ANYBODY = "AWS4-HMAC-SHA256 Credential=AKIATEST/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
KEYS = {"accessKeyId": "AKIATEST", "secretAccessKey": "s3cr3t-key"}


@dataclass(frozen=True)
class Objects:
    """`url` is the server's address, `ca` its authority (PEM), empty without TLS; `store` writes to the bucket."""

    url: str
    store: S3Store
    ca: str = ""

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
def s3_server(certificates: Path | None = None, host: str = "127.0.0.1") -> Iterator[Objects]:
    """A bucket on a free port of `host`, the same for all servers of the process; over TLS, with an authority made
    there, where a folder is given."""
    pair = None
    if certificates is not None:
        pair = Authority(certificates).server("store", ("localhost", "127.0.0.1"))
    app = DomainDispatcherApplication(create_backend_app)
    keys = (str(pair.certificate), str(pair.key)) if pair else None
    server = make_server(host, 0, app, threaded=True, ssl_context=keys)
    with serving(server):
        url = f"{'https' if pair else 'http'}://{host}:{server.server_port}"
        ca = Authority(certificates).certificate.read_text() if certificates else ""
        _make_bucket(url, ca)
        options: ClientConfig = {"root_certificate": ca} if ca else {"allow_http": True}
        store = S3Store(
            BUCKET,
            endpoint=url,
            access_key_id=KEYS["accessKeyId"],
            secret_access_key=KEYS["secretAccessKey"],
            region="us-east-1",
            client_options=options,
        )
        yield Objects(url, store, ca)


def _make_bucket(url: str, ca: str) -> None:
    context = httpx2.create_ssl_context()
    if ca:
        context.load_verify_locations(cadata=ca)
    httpx2.put(f"{url}/{BUCKET}", verify=context).raise_for_status()
