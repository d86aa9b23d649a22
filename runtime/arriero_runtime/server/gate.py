"""What is looked at in a request's head before anything else: its size, its key, and that it brings JSON."""

from dataclasses import dataclass
from typing import Final

from arriero_runtime.engine.protocol import Scope
from arriero_runtime.native.errors import NATIVE
from arriero_runtime.server import answers
from arriero_runtime.server.answers import Refusal
from arriero_runtime.server.keys import Keys, without_key
from arriero_runtime.server.routes import MAX_BODY_BYTES, OPEN, Kind, Route

_JSON: Final = b"application/json"
_READS: Final = (Kind.WORK, Kind.HERE)
"""Kinds of routes that read what they are sent."""


@dataclass
class Gate:
    """`max_body` is in bytes. Without `keys` everybody may ask."""

    max_body: int = MAX_BODY_BYTES
    keys: Keys | None = None

    def refusal(self, scope: Scope) -> Refusal | None:
        """For a request that may not even know what there is. What comes through has lost its key: nothing behind
        this can tell of it."""
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value) > self.max_body:
                return answers.too_large(self.max_body)
        if self.keys is not None and scope["path"] not in OPEN and not self.keys.admits(scope["headers"]):
            return answers.unknown_key()
        scope["headers"] = without_key(scope["headers"])
        return None

    def wrong_body(self, scope: Scope, route: Route) -> Refusal | None:
        """The Llama Stack routes read any body, as their own server does, but for what a page in a browser sends to
        another server without asking it first: a POST that does not say that it is JSON."""
        if scope["method"] != "POST" or route.kind not in _READS or _header(scope, b"content-type") == _JSON:
            return None
        lenient = route.voice is NATIVE or route.kind is Kind.HERE
        if lenient and _header(scope, b"origin") is None:
            return None
        return answers.wrong_media_type(scope["path"])


def _header(scope: Scope, wanted: bytes) -> bytes | None:
    """Its first value in lower case, without parameters."""
    for name, value in scope["headers"]:
        if name == wanted:
            return bytes(value.partition(b";")[0].strip().lower())
    return None
