"""The API server behind the Kube protocol, on the raw client of kubernetes.aio: dicts in, dicts out, typed errors."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import quote, urlencode

import aiohttp
from kubernetes.aio.client import ApiClient, Configuration

from arriero_operator.kube import stream
from arriero_operator.kube.answers import error_of, retry_after
from arriero_operator.kube.credentials import Credentials, authorization
from arriero_operator.kube.errors import Conflict, KubeError, NotFound, Unavailable
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
_WATCHED: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_GONE: Final = 410


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
        query = {"labelSelector": labels} if labels else {}
        return await self._list(kind, namespace, query, metadata_only)

    async def each(self, kind: Kind, namespace: str | None = None, labels: str = "") -> AsyncIterator[Object]:
        """As Kube.each."""
        async for _, page in self._pages(kind, namespace, {"labelSelector": labels} if labels else {}):
            for obj in page:
                yield obj

    async def events_about(self, namespace: str, uid: str) -> Objects:
        """As Kube.events_about."""
        return await self._list(EVENTS, namespace, {"fieldSelector": f"involvedObject.uid={uid}"})

    async def _list(
        self, kind: Kind, namespace: str | None, query: Mapping[str, str], metadata_only: bool = False
    ) -> Objects:
        found: Objects = []
        async for anew, page in self._pages(kind, namespace, query, metadata_only):
            found = page if anew else found + page
        return found

    async def _pages(
        self, kind: Kind, namespace: str | None, query: Mapping[str, str], metadata_only: bool = False
    ) -> AsyncIterator[tuple[bool, Objects]]:
        """Page by page; where one has expired meanwhile, all anew and in one piece, with True."""
        path, accept = _path(kind, namespace or ""), _METADATA if metadata_only else _JSON
        page: dict[str, str] = {"limit": str(PAGE)}
        while True:
            try:
                answer = await self._request("GET", kind, path, {**query, **page}, accept=accept, verb="LIST")
            except KubeError as error:
                if error.code != _GONE or not page:
                    raise
                page = {}
                continue
            found: Objects = answer.get("items") or []
            if not metadata_only:
                for obj in found:
                    obj.setdefault("apiVersion", kind.api_version)
                    obj.setdefault("kind", kind.kind)
            yield not page, found
            if not (token := answer["metadata"].get("continue")):
                return
            page = {"limit": str(PAGE), "continue": token}

    async def create(self, kind: Kind, obj: Object) -> Object:
        """As Kube.create; an object without metadata.namespace is cluster-scoped."""
        path = _path(kind, obj.get("metadata", {}).get("namespace", ""))
        return await self._request("POST", kind, path, body=obj)

    async def follow(self, kind: Kind, namespace: str, labels: str = "") -> AsyncIterator[Object]:
        """As Kube.follow."""
        query = {"labelSelector": labels} if labels else {}
        path = _path(kind, namespace)
        listed = await self._request("GET", kind, path, query, accept=_METADATA, verb="LIST")
        yield {"type": "LISTED", "items": listed.get("items") or []}
        query |= {"watch": "true", "resourceVersion": listed["metadata"]["resourceVersion"]}
        url = f"{self._configuration.host}{path}?{urlencode(query | {'timeoutSeconds': str(STREAM)})}"
        try:
            token = await authorization(self._configuration)
            headers = {"Accept": _WATCHED, "User-Agent": "arriero-operator"}
            response = await self._client.call_api(
                "GET",
                url,
                headers | ({"Authorization": token} if token else {}),
                _request_timeout=aiohttp.ClientTimeout(total=STREAM + REQUEST_TIMEOUT, sock_connect=CONNECT_TIMEOUT),
            )
            async with response.response as answer:
                if answer.status >= 400:
                    raise error_of(answer.status, await answer.read())
                async for event in stream.events(answer.content.iter_any()):
                    yield event
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise Unavailable(f"the watch has ended: {type(error).__name__}: {error}") from error

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
            if outcome.failure.code == 401 and not refreshed:
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
            found: Object = json.loads(text)
            return found
        except aiohttp.ClientConnectorError as error:
            return _Failed(Failure(0, unsent=True), Unavailable(f"no connection to the API server: {error}"))
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            text = f"no answer of the API server: {type(error).__name__}: {error}"
            return _Failed(Failure(0), Unavailable(text))
        finally:
            self._observer.requested(verb, resource, code, loop.time() - began)


@dataclass(frozen=True, slots=True)
class _Failed:
    failure: Failure
    error: KubeError


def collection_path(kind: Kind, namespace: str) -> str:
    """The REST path of all objects of a kind, in a namespace or, where that is empty, in all."""
    return _path(kind, namespace)


def _path(kind: Kind, namespace: str, name: str = "", subresource: str = "") -> str:
    """The REST path of a collection, an object or a subresource."""
    root = "/apis/" if "/" in kind.api_version else "/api/"
    parts = ["namespaces", namespace] if namespace else []
    parts += [part for part in (kind.plural, name, subresource) if part]
    return root + kind.api_version + "/" + "/".join(quote(part, safe="") for part in parts)
