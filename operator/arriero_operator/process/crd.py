"""Whether the CRD that the API server has knows every field that is written."""

import asyncio
from collections.abc import Iterator
from typing import Any, Final, Protocol

from arriero_api import crd, labels
from arriero_operator.kube.errors import KubeError, NotFound, Throttled, Unavailable
from arriero_operator.kube.protocol import Object
from arriero_operator.process.errors import StartupError

PATIENCE: Final = 15.0
"""Seconds."""
_PAUSE: Final = 1.0
_OPENAPI: Final = f"/openapi/v3/apis/{labels.API_VERSION}"
_INSTALL: Final = "install or upgrade the chart, or apply its CRD with kubectl apply --server-side"


class Documents(Protocol):
    """Reads JSON documents of the API server by path."""

    async def read(self, path: str) -> Object:
        """Raises the errors of `kube.errors`."""


async def check_crd(documents: Documents, patience: float = PATIENCE) -> None:
    """Raises StartupError when the served InferenceModel is absent or lacks a field of this version.

    Unavailable and Throttled are raised as they are. A CRD that was just installed is published with a delay: it is
    looked for again for `patience` seconds.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    while problem := await _problem(documents):
        if loop.time() >= deadline:
            raise StartupError(problem)
        await asyncio.sleep(_PAUSE)


async def _problem(documents: Documents) -> str:
    """What is wrong with the served resource; empty: nothing. Raises StartupError when it cannot be known."""
    try:
        document = await documents.read(_OPENAPI)
    except NotFound:
        return f"the API server has no {labels.KIND} of {labels.API_VERSION}: {_INSTALL}"
    except (Unavailable, Throttled):
        raise
    except KubeError as error:
        raise StartupError(f"the CRD cannot be checked: {error}") from error
    served = _served_schema(document)
    wanted = crd.definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    if lacking := sorted(_lacking(wanted, served, "")):
        return f"the CRD of {labels.KIND} is of another version, it lacks {', '.join(lacking)}: {_INSTALL}"
    return ""


def _served_schema(document: Object) -> dict[str, Any]:
    """The schema of the InferenceModel in an OpenAPI v3 document; empty when there is none."""
    kind = {"group": labels.GROUP, "version": labels.VERSION, "kind": labels.KIND}
    for schema in document.get("components", {}).get("schemas", {}).values():
        if kind in schema.get("x-kubernetes-group-version-kind", ()):
            return dict(schema)
    return {}


def _lacking(wanted: dict[str, Any], served: dict[str, Any], path: str) -> Iterator[str]:
    """Paths of the topmost properties of `wanted` that `served` does not have."""
    for name, inner in wanted.get("properties", {}).items():
        found = served.get("properties", {}).get(name)
        if found is None:
            yield f"{path}{name}"
        else:
            yield from _lacking(inner, found, f"{path}{name}.")
    if "items" in wanted:
        yield from _lacking(wanted["items"], served.get("items", {}), path)
