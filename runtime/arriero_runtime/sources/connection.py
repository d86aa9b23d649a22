"""HTTP connections to a source: trust, proxy, time limits."""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import httpx2

from arriero_api import credentials
from arriero_api.contract import Phase
from arriero_runtime.failing import start_error
from arriero_runtime.sources.access import Access
from arriero_runtime.sources.remote import Piece

TIMEOUT: Final = httpx2.Timeout(20.0, connect=10.0)
_CHUNK: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Way:
    """How one source is asked over HTTP. Clients of it follow redirects, and take `auth` and headers of authorization
    to the first host alone."""

    access: Access
    context: ssl.SSLContext
    headers: Mapping[str, str] = field(repr=False)
    auth: tuple[str, str] | None = field(default=None, repr=False)

    def client(self) -> httpx2.Client:
        """A new client, to be closed."""
        proxy = self.access.value(credentials.PROXY)
        return httpx2.Client(
            headers={"Accept-Encoding": "identity", **self.headers},
            auth=self.auth,
            verify=self.context,
            proxy=proxy or None,
            mounts=_direct(self.access, self.context) if proxy else None,
            # With a proxy of the Secret, none of the environment's.
            trust_env=not proxy,
            timeout=TIMEOUT,
            follow_redirects=True,
        )


def way(access: Access, headers: Mapping[str, str], auth: tuple[str, str] | None = None) -> Way:
    """Raises StartError for a CA bundle that cannot be read."""
    return Way(access, trusting(access), headers, auth)


@contextmanager
def piece(way: Way, url: str, offset: int, mark: str = "") -> Iterator[Piece]:
    """The body at `url` from `offset` on, or from its start where the server gives no ranges or, by `mark` (an entity
    tag), has another file now. Raises HTTPStatusError with the status, and httpx2's other errors."""
    headers = {"Range": f"bytes={offset}-"} if offset else {}
    if offset and mark and not mark.startswith("W/"):
        headers["If-Range"] = mark
    with way.client() as client, client.stream("GET", url, headers=headers) as response:
        if response.is_error:
            response.read()
        response.raise_for_status()
        yield Piece(offset if response.status_code == 206 else 0, response.iter_raw(_CHUNK))


def trusting(access: Access) -> ssl.SSLContext:
    """The machine's authorities and the Secret's. Raises StartError for a CA bundle that cannot be read."""
    context = httpx2.create_ssl_context()
    if access.ca:
        try:
            context.load_verify_locations(cadata=access.ca)
        except ssl.SSLError as error:
            words = f"The key {credentials.CA} of the Secret {access.secret} holds no certificates in PEM form."
            raise start_error("SourceTlsFailed", words, Phase.RESOLVING) from error
    return context


def _direct(access: Access, context: ssl.SSLContext) -> dict[str, httpx2.BaseTransport | None]:
    """Hosts that are reached without the proxy, and all below them."""
    hosts = [host.strip().lstrip(".") for host in access.value(credentials.NO_PROXY).split(",") if host.strip()]
    return {
        pattern: httpx2.HTTPTransport(verify=context)
        for host in hosts
        for pattern in (f"all://{host}", f"all://*.{host}")
    }
