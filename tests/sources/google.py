"""A door before the object store that opens for one service account of Google alone: to requests with a token that the
account has signed itself, as Google describes it. What is behind the door is that of `objects`."""

import base64
import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from tests.support.threaded import serving

EMAIL = "models@project.iam.gserviceaccount.com"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_REFUSED = b"<Error><Code>AuthenticationRequired</Code><Message>no</Message></Error>"


def account(key: rsa.RSAPrivateKey, **more: str) -> str:
    """The JSON file of a service account's key, as Google gives it."""
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    said = {
        "type": "service_account",
        "project_id": "project",
        "private_key_id": "key-1",
        "private_key": pem,
        "client_email": EMAIL,
        "token_uri": "https://oauth2.googleapis.com/token",
    }
    return json.dumps({**said, **more})


@dataclass(frozen=True)
class GoogleStore:
    """`url` is its address, `key` that of the only account it knows."""

    url: str
    key: rsa.RSAPrivateKey


class _Door:
    def __init__(self, key: rsa.RSAPublicKey) -> None:
        self._key = key
        self._behind = DomainDispatcherApplication(create_backend_app)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if not self._opens(environ.pop("HTTP_AUTHORIZATION", "")):
            start_response("401 Unauthorized", [("Content-Length", str(len(_REFUSED)))])
            return [_REFUSED]
        found: Iterable[bytes] = self._behind(environ, start_response)
        return found

    def _opens(self, header: str) -> bool:
        kind, _, token = header.partition(" ")
        signed, _, signature = token.rpartition(".")
        if kind != "Bearer" or not signature:
            return False
        try:
            self._key.verify(_bytes(signature), signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        except InvalidSignature:
            return False
        head, claims = (_json(part) for part in signed.split("."))
        return (
            (head["alg"], head["kid"]) == ("RS256", "key-1")
            and (claims["iss"], claims["sub"], claims["scope"]) == (EMAIL, EMAIL, SCOPE)
            and claims["iat"] - 60 < time.time() < claims["exp"] <= claims["iat"] + 3600
        )


def _bytes(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _json(part: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_bytes(part))
    return found


@contextmanager
def google_store() -> Iterator[GoogleStore]:
    """On a free port; its objects are those of `objects` that were published."""
    key = rsa.generate_private_key(65537, 2048)
    server = make_server("127.0.0.1", 0, _Door(key.public_key()), threaded=True)
    with serving(server):
        yield GoogleStore(f"http://127.0.0.1:{server.server_port}", key)
