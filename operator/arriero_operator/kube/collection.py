"""All objects of a kind that labels or fields select: listed page by page, and watched from a version on."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Final, NamedTuple

from arriero_operator.kube.errors import Expired
from arriero_operator.kube.paths import path_of
from arriero_operator.kube.protocol import Kind, Object, Objects
from arriero_operator.kube.requests import JSON, Call, Requests

PAGE: Final = 100
"""Objects of one list that are in memory at once, as text and read."""

_METADATA: Final = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
_METADATA_LIST: Final = _METADATA.format("List")
_METADATA_EVENTS: Final = _METADATA.format("")


class Page(NamedTuple):
    """Some objects of a list of that version; `anew`: all of them, and what came before does not count."""

    anew: bool
    version: str
    items: Objects


def selected(labels: str) -> dict[str, str]:
    """The query for objects that the label selector matches; all where it is empty."""
    return {"labelSelector": labels} if labels else {}


async def pages(
    requests: Requests, kind: Kind, namespace: str, query: Mapping[str, str], metadata_only: bool = False
) -> AsyncIterator[Page]:
    """Page by page; where one has expired meanwhile, all anew and in one piece. Raises as Requests.send."""
    path, accept = path_of(kind, namespace), _METADATA_LIST if metadata_only else JSON
    page: dict[str, str] = {"limit": str(PAGE)}
    while True:
        call = Call("GET", kind.plural, path, {**query, **page}, accept=accept, verb="LIST")
        try:
            answer = await requests.send(call)
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
        yield Page(not page, answer["metadata"].get("resourceVersion", ""), found)
        if not (token := answer["metadata"].get("continue")):
            return
        page = {"limit": str(PAGE), "continue": token}


async def listed(
    requests: Requests, kind: Kind, namespace: str, query: Mapping[str, str], metadata_only: bool = False
) -> Objects:
    """All pages as one list. Raises as Requests.send."""
    found: Objects = []
    async for page in pages(requests, kind, namespace, query, metadata_only):
        found = page.items if page.anew else found + page.items
    return found


def watched(
    requests: Requests,
    kind: Kind,
    namespace: str,
    query: Mapping[str, str],
    *,
    seconds: int,
    silence: float,
    metadata_only: bool = False,
) -> AsyncGenerator[Object, None]:
    """Events, bookmarks and errors among them, until the API server ends them after `seconds`, or as
    Requests.stream."""
    told = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds), **query}
    accept = _METADATA_EVENTS if metadata_only else JSON
    return requests.stream(path_of(kind, namespace), told, accept, silence)
