"""All objects of a kind that labels or fields select: listed page by page, and watched from a version on."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final, NamedTuple

from arriero_operator.kube.errors import Expired
from arriero_operator.kube.paths import path_of
from arriero_operator.kube.protocol import Object, Objects, Scope
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


async def pages(requests: Requests, scope: Scope) -> AsyncIterator[Page]:
    """Page by page; where one has expired meanwhile, all anew and in one piece. Raises as Requests.send."""
    kind, accept = scope.kind, _METADATA_LIST if scope.metadata_only else JSON
    path, query = path_of(kind, scope.namespace), _selected(scope)
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
        if not scope.metadata_only:
            for obj in found:
                obj.setdefault("apiVersion", kind.api_version)
                obj.setdefault("kind", kind.kind)
        yield Page(not page, answer["metadata"].get("resourceVersion", ""), found)
        if not (token := answer["metadata"].get("continue")):
            return
        page = {"limit": str(PAGE), "continue": token}


async def listed(requests: Requests, scope: Scope) -> Objects:
    """All pages as one list. Raises as Requests.send."""
    found: Objects = []
    async for page in pages(requests, scope):
        found = page.items if page.anew else found + page.items
    return found


def watched(
    requests: Requests, scope: Scope, version: str, *, seconds: int, silence: float
) -> AsyncGenerator[Object, None]:
    """Events after `version`, bookmarks and errors among them, until the API server ends them after `seconds`, or as
    Requests.stream."""
    told = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds), "resourceVersion": version}
    accept = _METADATA_EVENTS if scope.metadata_only else JSON
    return requests.stream(path_of(scope.kind, scope.namespace), told | _selected(scope), accept, silence)


def _selected(scope: Scope) -> dict[str, str]:
    """The query for what the selectors match; all where they are empty."""
    selectors = {"labelSelector": scope.labels, "fieldSelector": scope.fields}
    return {name: text for name, text in selectors.items() if text}
