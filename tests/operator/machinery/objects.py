"""Small Kubernetes objects for tests of the machinery."""

from typing import Any

from arriero_api import labels
from arriero_operator.kube.protocol import Kind, Object

MARKS = {labels.MANAGED_BY: labels.MANAGED_BY_VALUE}


def make(
    kind: Kind, name: str, version: int, *, uid: str = "", namespace: str = "team", stem: str = "", **fields: Any
) -> Object:
    """An object as the API server would send it."""
    marks = MARKS | ({labels.MODEL: stem} if stem else {})
    metadata = {
        "namespace": namespace,
        "name": name,
        "uid": uid or f"{kind.kind}-{name}",
        "resourceVersion": str(version),
        "generation": 1,
        "labels": marks,
    }
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **fields}
