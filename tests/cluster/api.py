"""The few requests that the harness itself makes to the API server, on the standard library alone."""

import json
import ssl
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from tests.cluster.certificates import Authority, Pair
from tests.cluster.errors import ClusterError

Object = dict[str, Any]
_TIMEOUT = 10
_RETRY_SECONDS = 10


class UnavailableError(ClusterError):
    """The API server could not answer now: just after a restart of its database, for example."""


@dataclass(frozen=True)
class Api:
    """A client of one API server, with the rights of `pair`; it repeats what the server could not answer for 10 s."""

    server: str
    authority: Authority
    pair: Pair

    def ready(self) -> bool:
        """Whether the API server answers and calls itself ready."""
        try:
            self._send("GET", "/readyz", None, "")
        except (OSError, ClusterError):
            return False
        return True

    def find(self, path: str) -> Object | None:
        """The object or list at `path`, or None when there is none."""
        try:
            found: Object = json.loads(self._retry("GET", path, None, ""))
        except FileNotFoundError:
            return None
        return found

    def create(self, path: str, body: Object) -> None:
        """Create `body` in the collection at `path`; an object that exists already is left as it is."""
        try:
            self._retry("POST", path, body, "application/json")
        except FileExistsError:
            return

    def merge(self, path: str, patch: Object) -> None:
        """Apply a JSON merge patch to the object at `path`."""
        self._retry("PATCH", path, patch, "application/merge-patch+json")

    def _retry(self, method: str, path: str, body: Object | None, content: str) -> bytes:
        deadline = time.monotonic() + _RETRY_SECONDS
        while True:
            try:
                return self._send(method, path, body, content)
            except UnavailableError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.1)

    def _send(self, method: str, path: str, body: Object | None, content: str) -> bytes:
        context = ssl.create_default_context(cafile=self.authority.certificate)
        context.load_cert_chain(self.pair.certificate, self.pair.key)
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        request = urllib.request.Request(
            self.server + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": content} if content else {},
        )
        try:
            with opener.open(request, timeout=_TIMEOUT) as response:
                answer: bytes = response.read()
                return answer
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode(errors="replace")
            if error.code == 404:
                raise FileNotFoundError(path) from error
            if error.code == 409:
                raise FileExistsError(path) from error
            kind = UnavailableError if error.code >= 500 or error.code == 429 else ClusterError
            raise kind(f"{method} {path}: {error.code} {text}") from error
