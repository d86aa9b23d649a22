"""The API server behind the Kube protocol, on the raw client of kubernetes.aio: dicts in, dicts out, typed errors."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import quote, urlencode

import aiohttp
from kubernetes.aio.client import ApiClient, Configuration

from arriero_operator.kube import stream
from arriero_operator.kube.answers import error_of, retry_after
from arriero_operator.kube.credentials import Credentials, authorization
from arriero_operator.kube.errors import Conflict, Expired, KubeError, NotFound, Unavailable
from arriero_operator.kube.parsing import parsed
from arriero_operator.kube.protocol import EVENTS, Kind, Object, Objects
from arriero_operator.kube.retrying import Failure, wait_before_retry

REQUEST_TIMEOUT: Final = 30.0
"""Seconds for one attempt: an admission webhook may take as long, and what it says is worth to be known. No other one
begins after `retrying.PATIENCE`."""
CONNECT_TIMEOUT: Final = 10.0
PAGE: Final = 100
"""Objects of one list that are in memory at once, as text and read."""
STREAM: Final = 300
"""Seconds for which one watch lasts."""

_JSON: Final = "application/json"
_APPLY: Final = "application/apply-patch+yaml"
_MERGE: Final = "application/merge-patch+json"
_METADATA: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_UNAUTHORIZED: Final = 401
_WATCHED: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


class RequestObserver(Protocol):
    """Who counts requests."""

    def requested(self, verb: str, resource: str, code: int, seconds: float) -> None:
        """One attempt has ended; `code` is 0 when there was no answer."""


class Unobserved:
    """Counts nothing."""

    def requested(self, verb: str, resource: str, code: int, seconds: float) -> None:
        """Nothing."""


class ApiServer:
    """One API server. Open it with `connect`, end it with `close`."""

    def __init__(self, credentials: Credentials, configuration: Configuration, observer: RequestObserver) -> None:
        self._credentials = credentials
        self._configuration = configuration
        self._observer = observer
        self._client = ApiClient(configuration)

    @classmethod
    async def connect(cls, credentials: Credentials, observer: RequestObserver | None = None) -> "ApiServer":
        """No request is made. Raises CredentialsError."""
        return cls(credentials, await credentials.load(), observer or Unobserved())

    async def close(self) -> None:
        """End all connections."""
        await self._client.close()  # type: ignore[no-untyped-call]

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        """As Kube.get."""
        return await self._request("GET", kind, _path(kind, namespace, name))

    async def list(
        self, kind: Kind, namespace: str | None = None, labels: str = "", metadata_only: bool = False
    ) -> Objects:
        """As Kube.list."""
        return await self._list(kind, namespace, _selected(labels), metadata_only)

    async def each(self, kind: Kind, namespace: str | None = None, labels: str = "") -> AsyncIterator[Object]:
        """As Kube.each."""
        async for page in self._pages(kind, namespace, _selected(labels)):
            for obj in page.items:
                yield obj

    async def listing(self, kind: Kind, namespace: str, labels: str) -> AsyncIterator[tuple[str, Objects]]:
        """The same objects as `list` finds in a namespace, or in all where it is empty: page by page, each with the
        version of the list, which is that of the last page where they differ. Raises as Kube."""
        async for page in self._pages(kind, namespace, _selected(labels)):
            yield page.version, page.items

    async def events_about(self, namespace: str, uid: str) -> Objects:
        """As Kube.events_about."""
        return await self._list(EVENTS, namespace, {"fieldSelector": f"involvedObject.uid={uid}"})

    async def _list(
        self, kind: Kind, namespace: str | None, query: Mapping[str, str], metadata_only: bool = False
    ) -> Objects:
        found: Objects = []
        async for page in self._pages(kind, namespace, query, metadata_only):
            found = page.items if page.anew else found + page.items
        return found

    async def _pages(
        self, kind: Kind, namespace: str | None, query: Mapping[str, str], metadata_only: bool = False
    ) -> AsyncIterator["_Page"]:
        """Page by page; where one has expired meanwhile, all anew and in one piece."""
        path, accept = _path(kind, namespace or ""), _METADATA if metadata_only else _JSON
        page: dict[str, str] = {"limit": str(PAGE)}
        while True:
            try:
                answer = await self._request("GET", kind, path, {**query, **page}, accept=accept, verb="LIST")
            except Expired:
                if not page:
                    raise
                page = {}
                continue
            found: Objects = answer.get("items") or []
            if not metadata_only:
                for obj in found:
                    obj.setdefault("apiVersion", kind.api_version)
                    obj.setdefault("kind", kind.kind)
            yield _Page(not page, answer["metadata"].get("resourceVersion", ""), found)
            if not (token := answer["metadata"].get("continue")):
                return
            page = {"limit": str(PAGE), "continue": token}

    async def create(self, kind: Kind, obj: Object) -> Object:
        """As Kube.create; an object without metadata.namespace is cluster-scoped."""
        path = _path(kind, obj.get("metadata", {}).get("namespace", ""))
        return await self._request("POST", kind, path, body=obj)

    async def follow(self, kind: Kind, namespace: str, labels: str = "") -> AsyncIterator[Object]:
        """As Kube.follow."""
        query, path = _selected(labels), _path(kind, namespace)
        listed = await self._request("GET", kind, path, query, accept=_METADATA, verb="LIST")
        yield {"type": "LISTED", "items": listed.get("items") or []}
        query |= {"resourceVersion": listed["metadata"]["resourceVersion"], "timeoutSeconds": str(STREAM)}
        timeout = aiohttp.ClientTimeout(total=STREAM + REQUEST_TIMEOUT, sock_connect=CONNECT_TIMEOUT)
        async with aclosing(self._stream(path, query, _WATCHED, timeout)) as told:
            async for event in told:
                yield event

    async def watch(
        self, kind: Kind, namespace: str, labels: str, version: str, seconds: int, silence: float
    ) -> AsyncGenerator[Object, None]:
        """A watch's own events after `version`, bookmarks and errors among them, in a namespace, or in all where it is
        empty.

        Ends when the API server ends it, after `seconds`, when it is cut, and after `silence` seconds without a word.
        Raises as Kube where it does not begin.
        """
        query = {**_selected(labels), "allowWatchBookmarks": "true", "resourceVersion": version}
        query["timeoutSeconds"] = str(seconds)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT, sock_read=silence)
        async with aclosing(self._stream(_path(kind, namespace), query, _JSON, timeout)) as told:
            async for event in told:
                yield event

    async def _stream(
        self, path: str, query: Mapping[str, str], accept: str, timeout: aiohttp.ClientTimeout
    ) -> AsyncGenerator[Object, None]:
        """Events of one answer, until it ends, is cut or is not heard of any more.

        One with a token that has ended is asked for once more, with the one that is there.
        """
        url = f"{self._configuration.host}{path}?{urlencode({'watch': 'true', **query})}"
        try:
            answer = await self._begun(url, accept, timeout)
            if answer.status == _UNAUTHORIZED:
                answer.close()
                self._configuration = await self._credentials.load()
                answer = await self._begun(url, accept, timeout)
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

    async def _begun(self, url: str, accept: str, timeout: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        headers = {"Accept": accept, "User-Agent": "arriero-operator"}
        if token := await authorization(self._configuration):
            headers["Authorization"] = token
        begun = await self._client.call_api("GET", url, headers, _request_timeout=timeout)
        found: aiohttp.ClientResponse = begun.response
        return found

    async def apply(
        self, kind: Kind, obj: Object, *, manager: str, force: bool = True, subresource: str = ""
    ) -> Object:
        """As Kube.apply."""
        body = {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
        path = _path(kind, obj["metadata"]["namespace"], obj["metadata"]["name"], subresource)
        query = {"fieldManager": manager, "force": str(force).lower()}
        return await self._request("PATCH", kind, path, query, body=body, content=_APPLY, verb="APPLY")

    async def try_create(self, kind: Kind, obj: Object) -> None:
        """As Kube.try_create."""
        path = _path(kind, obj["metadata"]["namespace"])
        await self._request("POST", kind, path, {"dryRun": "All", "fieldValidation": "Strict"}, body=obj)

    async def merge_patch(self, kind: Kind, namespace: str, name: str, patch: Mapping[str, Any]) -> Object:
        """As Kube.merge_patch."""
        return await self._request("PATCH", kind, _path(kind, namespace, name), body=dict(patch), content=_MERGE)

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str) -> None:
        """As Kube.delete; an object of the same name with another uid stays and is no error."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        try:
            await self._request(
                "DELETE", kind, _path(kind, namespace, name), body={**body, "preconditions": {"uid": uid}}
            )
        except (NotFound, Conflict):
            return

    async def read(self, path: str) -> Object:
        """The JSON document at any path of the API server, such as a discovery document."""
        return await self._request("GET", None, path)

    async def _request(
        self,
        method: str,
        kind: Kind | None,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        body: Object | None = None,
        content: str = _JSON,
        accept: str = _JSON,
        verb: str = "",
    ) -> Object:
        """One call with its retries. Raises the errors of `kube.errors`."""
        url = f"{self._configuration.host}{path}" + (f"?{urlencode(query)}" if query else "")
        headers = {"Accept": accept, "Content-Type": content, "User-Agent": "arriero-operator"}
        resource = kind.plural if kind else "other"
        loop, attempt, refreshed = asyncio.get_running_loop(), 0, False
        began = loop.time()
        while True:
            attempt += 1
            outcome = await self._attempt(method, url, headers, body, verb or method, resource)
            if not isinstance(outcome, _Failed):
                return outcome
            if outcome.failure.code == _UNAUTHORIZED and not refreshed:
                refreshed = True
                self._configuration = await self._credentials.load()
                continue
            elapsed = loop.time() - began
            wait = wait_before_retry(outcome.failure, attempt, repeatable=method != "POST", elapsed=elapsed)
            if wait is None:
                raise outcome.error
            await asyncio.sleep(wait)

    async def _attempt(
        self, method: str, url: str, headers: dict[str, str], body: Object | None, verb: str, resource: str
    ) -> "Object | _Failed":
        """One HTTP exchange."""
        loop = asyncio.get_running_loop()
        began, code = loop.time(), 0
        try:
            token = await authorization(self._configuration)
            response = await self._client.call_api(
                method,
                url,
                {**headers, "Authorization": token} if token else dict(headers),
                body,
                _request_timeout=aiohttp.ClientTimeout(total=REQUEST_TIMEOUT, sock_connect=CONNECT_TIMEOUT),
            )
            text = await response.read()  # type: ignore[no-untyped-call]
            code = response.status
            if code >= 400:
                patience = retry_after(response.headers)
                return _Failed(Failure(code, patience), error_of(code, text, patience))
            found: Object = parsed(text)
            return found
        except aiohttp.ClientConnectorError as error:
            return _Failed(Failure(0, unsent=True), Unavailable(f"no connection to the API server: {error}"))
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            text = f"no answer of the API server: {type(error).__name__}: {error}"
            return _Failed(Failure(0), Unavailable(text))
        finally:
            self._observer.requested(verb, resource, code, loop.time() - began)


class _Page(NamedTuple):
    """Some objects of a list of that version; `anew`: all of them, and what came before does not count."""

    anew: bool
    version: str
    items: Objects


@dataclass(frozen=True, slots=True)
class _Failed:
    failure: Failure
    error: KubeError


def _selected(labels: str) -> dict[str, str]:
    return {"labelSelector": labels} if labels else {}


def collection_path(kind: Kind, namespace: str) -> str:
    """The REST path of all objects of a kind, in a namespace or, where that is empty, in all."""
    return _path(kind, namespace)


def _path(kind: Kind, namespace: str, name: str = "", subresource: str = "") -> str:
    """The REST path of a collection, an object or a subresource."""
    root = "/apis/" if "/" in kind.api_version else "/api/"
    parts = ["namespaces", namespace] if namespace else []
    parts += [part for part in (kind.plural, name, subresource) if part]
    return root + kind.api_version + "/" + "/".join(quote(part, safe="") for part in parts)
