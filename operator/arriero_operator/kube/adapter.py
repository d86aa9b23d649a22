"""The API server behind the Kube protocol: dicts in, dicts out, typed errors."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, Final

from arriero_operator.kube.collection import listed, pages, watched
from arriero_operator.kube.credentials import Credentials
from arriero_operator.kube.errors import Conflict, NotFound
from arriero_operator.kube.paths import path_of
from arriero_operator.kube.protocol import EVENTS, Kind, Object, Objects, Scope
from arriero_operator.kube.requests import Call, RequestObserver, Requests, Unobserved

_APPLY: Final = "application/apply-patch+yaml"
_MERGE: Final = "application/merge-patch+json"


class ApiServer:
    """One API server. Open it with `connect`, end it with `close`."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    @classmethod
    async def connect(cls, credentials: Credentials, observer: RequestObserver | None = None) -> "ApiServer":
        """No request is made. Raises CredentialsError."""
        return cls(Requests(credentials, await credentials.load(), observer or Unobserved()))

    async def close(self) -> None:
        """End all connections."""
        await self._requests.close()

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        """As Kube.get."""
        return await self._requests.send(Call("GET", kind.plural, path_of(kind, namespace, name)))

    async def list(
        self, kind: Kind, namespace: str | None = None, labels: str = "", metadata_only: bool = False
    ) -> Objects:
        """As Kube.list."""
        return await listed(self._requests, Scope(kind, namespace or "", labels, metadata_only))

    async def each(self, kind: Kind, namespace: str | None = None, labels: str = "") -> AsyncIterator[Object]:
        """As Kube.each."""
        async for page in pages(self._requests, Scope(kind, namespace or "", labels)):
            for obj in page.items:
                yield obj

    async def events_about(self, namespace: str, uid: str) -> Objects:
        """As Kube.events_about."""
        return await listed(self._requests, Scope(EVENTS, namespace, fields=f"involvedObject.uid={uid}"))

    async def listing(self, scope: Scope) -> AsyncIterator[tuple[str, Objects]]:
        """As Source.listing."""
        async for page in pages(self._requests, scope):
            yield page.version, page.items

    def watch(self, scope: Scope, version: str, *, seconds: int, silence: float) -> AsyncGenerator[Object, None]:
        """As Source.watch."""
        return watched(self._requests, scope, version, seconds=seconds, silence=silence)

    async def create(self, kind: Kind, obj: Object) -> Object:
        """As Kube.create; an object without metadata.namespace is cluster-scoped."""
        path = path_of(kind, obj.get("metadata", {}).get("namespace", ""))
        return await self._requests.send(Call("POST", kind.plural, path, body=obj))

    async def apply(
        self, kind: Kind, obj: Object, *, manager: str, force: bool = True, subresource: str = ""
    ) -> Object:
        """As Kube.apply."""
        body = {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
        path = path_of(kind, obj["metadata"]["namespace"], obj["metadata"]["name"], subresource)
        query = {"fieldManager": manager, "force": str(force).lower()}
        call = Call("PATCH", kind.plural, path, query, body=body, content=_APPLY, verb="APPLY")
        return await self._requests.send(call)

    async def try_create(self, kind: Kind, obj: Object) -> None:
        """As Kube.try_create."""
        query = {"dryRun": "All", "fieldValidation": "Strict"}
        path = path_of(kind, obj["metadata"]["namespace"])
        await self._requests.send(Call("POST", kind.plural, path, query, body=obj))

    async def merge_patch(self, kind: Kind, namespace: str, name: str, patch: Mapping[str, Any]) -> Object:
        """As Kube.merge_patch."""
        path = path_of(kind, namespace, name)
        return await self._requests.send(Call("PATCH", kind.plural, path, body=dict(patch), content=_MERGE))

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str) -> None:
        """As Kube.delete; an object of the same name with another uid stays and is no error."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        wanted = {**body, "preconditions": {"uid": uid}}
        try:
            await self._requests.send(Call("DELETE", kind.plural, path_of(kind, namespace, name), body=wanted))
        except (NotFound, Conflict):
            return

    async def read(self, path: str) -> Object:
        """The JSON document at any path of the API server, such as a discovery document."""
        return await self._requests.send(Call("GET", "other", path))
