"""Volumes of a pod and where its container mounts them."""

from typing import Any, Final

from arriero_api import pod, uris
from arriero_operator.render import credentials, files, names
from arriero_operator.render.inputs import Inputs

_REGISTRATIONS: Final = "registrations"
_CACHE: Final = "cache"
_STATE: Final = "state"
_TMP: Final = "tmp"
_SHM: Final = "shm"
_MODEL: Final = "model"

Json = dict[str, Any]


def volumes(model: str, inputs: Inputs) -> list[Json]:
    """The pod's volumes, for the revision `inputs.hash` of `model`."""
    found: list[Json] = [
        {"name": _REGISTRATIONS, "configMap": {"name": names.revisioned(model, inputs.hash)}},
        {"name": _CACHE, **_cache(model, inputs)},
        {"name": _STATE, "emptyDir": {}},
        {"name": _TMP, "emptyDir": {}},
        {"name": _SHM, "emptyDir": {"medium": "Memory", "sizeLimit": inputs.shared_memory}},
    ]
    source = uris.parse(inputs.uri)
    if source.scheme == uris.PVC:
        claim = {"claimName": source.location, "readOnly": True}
        found.append({"name": _MODEL, "persistentVolumeClaim": claim})
    if source.scheme == uris.OCI:
        found.append({"name": _MODEL, "image": {"reference": source.location, "pullPolicy": "IfNotPresent"}})
    return [*found, *files.volumes(inputs), *credentials.volumes(inputs)]


def mounts(inputs: Inputs) -> list[Json]:
    """The container's mounts of them."""
    found: list[Json] = [
        {"name": _REGISTRATIONS, "mountPath": pod.REGISTRATIONS_DIR, "readOnly": True},
        {"name": _CACHE, "mountPath": pod.CACHE_DIR},
        {"name": _STATE, "mountPath": pod.STATE_DIR},
        {"name": _TMP, "mountPath": "/tmp"},
        {"name": _SHM, "mountPath": "/dev/shm"},
    ]
    if uris.parse(inputs.uri).scheme in uris.MOUNTED:
        found.append({"name": _MODEL, "mountPath": pod.CLAIM_DIR, "readOnly": True})
    return [*found, *files.mounts(inputs), *credentials.mounts(inputs)]


def _cache(model: str, inputs: Inputs) -> Json:
    claim = names.cache_claim(model) if inputs.own_cache_claim else inputs.cache_claim
    if claim:
        return {"persistentVolumeClaim": {"claimName": claim}}
    return {"emptyDir": {"sizeLimit": inputs.cache_size} if inputs.cache_size else {}}
