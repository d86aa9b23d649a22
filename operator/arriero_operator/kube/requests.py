"""HTTP with the API server, on kubernetes.aio's connections: requests with their retries, and answers that stream.

It knows of tokens, time-outs and errors, and nothing of what is asked for: paths and queries are its callers'.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import urlencode

import aiohttp
from kubernetes.aio.client import Configuration

from arriero_operator.kube import stream
from arriero_operator.kube.answers import error_of, retry_after
from arriero_operator.kube.connection import CONNECT_TIMEOUT, Connections
from arriero_operator.kube.credentials import Credentials, authorization
from arriero_operator.kube.errors import KubeError, Unavailable
from arriero_operator.kube.parsing import parsed, without_managers
from arriero_operator.kube.protocol import Object
from arriero_operator.kube.retrying import Failure, wait_before_retry

REQUEST_TIMEOUT: Final = 30.0
"""Seconds for one attempt: an admission webhook may take as long, and what it says is worth to be known. No other one
begins after `retrying.PATIENCE`."""
_TIMEOUT: Final = aiohttp.ClientTimeout(total=REQUEST_TIMEOUT, sock_connect=CONNECT_TIMEOUT)
JSON: Final = "application/json"

_AGENT: Final = {"User-Agent": "arriero-operator"}
_UNAUTHORIZED: Final = 401


class RequestObserver(Protocol):
    """Who counts requests."""

    def requested(self, verb: str, resource: str, code: int, seconds: float) -> None:
        """One attempt has ended; `code` is 0 when there was no answer."""


class Unobserved:
    """Counts nothing."""

    def requested(self, verb: str, resource: str, code: int, seconds: float) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request. `resource` and `verb` are what it is counted as; `verb` is the method where it is empty."""

    method: str
    resource: str
    path: str
    query: Mapping[str, str] | None = None
    body: Object | None = None
    content: str = JSON
    accept: str = JSON
    verb: str = ""


class Requests:
    """Requests to one API server. One whose token has ended is sent once more, with the one that is there by then."""

    def __init__(self, credentials: Credentials, configuration: Configuration, observer: RequestObserver) -> None:
        self._credentials = credentials
        self._configuration = configuration
        self._observer = observer
        self._connections = Connections(configuration)

    async def close(self) -> None:
        """End all that is open."""
        await self._connections.close()

    async def send(self, call: Call) -> Object:
        """The answer's object, after retries where they are of use. Raises the errors of `kube.errors`."""
        loop, attempt, refreshed = asyncio.get_running_loop(), 0, False
        began = loop.time()
        while True:
            attempt += 1
            outcome = await self._attempt(call)
            if not isinstance(outcome, _Failed):
                return outcome
            if outcome.failure.code == _UNAUTHORIZED and not refreshed:
                refreshed = True
                self._configuration = await self._credentials.load()
                continue
            elapsed = loop.time() - began
            wait = wait_before_retry(outcome.failure, attempt, repeatable=call.method != "POST", elapsed=elapsed)
            if wait is None:
                raise outcome.error
            await asyncio.sleep(wait)

    async def stream(
        self, path: str, query: Mapping[str, str], accept: str, silence: float
    ) -> AsyncGenerator[Object, None]:
        """The objects of one answer, until it ends, is cut, or nothing was heard for `silence` seconds.

        Raises the errors of `kube.errors` where it does not begin; it is not tried again here.
        """
        url = self._url(path, query)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT, sock_read=silence)
        try:
            answer = await self._begun("GET", url, {"Accept": accept}, timeout)
            if answer.status == _UNAUTHORIZED:
                answer.close()
                self._configuration = await self._credentials.load()
                answer = await self._begun("GET", url, {"Accept": accept}, timeout)
            if answer.status >= 400:
                async with answer:
                    patience = retry_after(answer.headers)
                    raise error_of(answer.status, await answer.read(), patience)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unavailable(f"no watch: {type(error).__name__}: {error}") from error
        with suppress(aiohttp.ClientError, TimeoutError, OSError):
            async with answer:
                async for event in stream.events(answer.content.iter_any()):
                    yield event

    def _url(self, path: str, query: Mapping[str, str] | None) -> str:
        return f"{self._configuration.host}{path}" + (f"?{urlencode(query)}" if query else "")

    async def _begun(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        timeout: aiohttp.ClientTimeout,
        body: Object | None = None,
    ) -> aiohttp.ClientResponse:
        """The answer's head, to a request with the token that is there by now."""
        told = {**headers, **_AGENT}
        if token := await authorization(self._configuration):
            told["Authorization"] = token
        return await self._connections.send(method, url, told, timeout, body)

    async def _attempt(self, call: Call) -> "Object | _Failed":
        """One HTTP exchange."""
        loop = asyncio.get_running_loop()
        began, code = loop.time(), 0
        url, headers = self._url(call.path, call.query), {"Accept": call.accept, "Content-Type": call.content}
        try:
            response = await self._begun(call.method, url, headers, _TIMEOUT, call.body)
            text = await response.read()
            code = response.status
            if code >= 400:
                patience = retry_after(response.headers)
                return _Failed(Failure(code, patience), error_of(code, text, patience))
            # Lists and single objects are given as they are.
            found: Object = parsed(text) if call.method == "GET" else without_managers(text)
            return found
        except aiohttp.ClientConnectorError as error:
            return _Failed(Failure(0, unsent=True), Unavailable(f"no connection to the API server: {error}"))
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            words = f"no answer of the API server: {type(error).__name__}: {error}"
            return _Failed(Failure(0), Unavailable(words))
        finally:
            self._observer.requested(call.verb or call.method, call.resource, code, loop.time() - began)


@dataclass(frozen=True, slots=True)
class _Failed:
    failure: Failure
    error: KubeError
