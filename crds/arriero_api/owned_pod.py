"""What of a pod `spec.podTemplate` may not carry, and what to use instead. Checked by the operator.

The API server cannot check it: the field is open, because only the API server knows all fields of a pod.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from arriero_api import labels, pod

_REMOVE: Final = "Arriero sets it for every pod; remove it"

OWNED_POD_FIELDS: Final[dict[str, str]] = {
    "terminationGracePeriodSeconds": "use spec.serving.drainSeconds",
    "restartPolicy": "the pods of a Deployment always restart; remove it",
    "activeDeadlineSeconds": "the pods of a Deployment have no deadline; remove it",
    "ephemeralContainers": "add them to a running pod with kubectl debug",
    "shareProcessNamespace": "the runtime must be process 1 of its container; remove it",
}
"""Field of the PodSpec → what to do."""

OWNED_CONTAINER_FIELDS: Final[dict[str, str]] = {
    "image": "use spec.image",
    "command": _REMOVE,
    "args": "use spec.engine.args for vLLM's flags",
    "env": "use spec.engine.env",
    "envFrom": "use spec.engine.envFrom",
    "resources": "use spec.resources",
    "ports": "the runtime serves these ports only; give a further container ports of its own",
    "livenessProbe": _REMOVE,
    "readinessProbe": _REMOVE,
    "startupProbe": _REMOVE,
    "lifecycle": "the runtime drains by itself when it is told to stop; remove it",
    "terminationMessagePath": _REMOVE,
    "terminationMessagePolicy": _REMOVE,
    "workingDir": _REMOVE,
}
"""Field of the container `runtime` → what to do."""

_GROUP: Final = f"{labels.GROUP}/"


def refused(template: Mapping[str, Any], base: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Paths in `template`, a partial PodTemplateSpec, that are not its author's, with what to do; `base` is the whole
    one that it is laid over. Its shapes are right, as `arriero_api.pod_shapes` says."""
    spec: Any = template.get("spec") or {}
    return [
        *_metadata(template.get("metadata") or {}),
        *_pod(spec),
        *_volumes(spec, base),
        *_runtime(spec, base),
    ]


def _metadata(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for part in ("labels", "annotations"):
        for key in metadata.get(part) or {}:
            if key.startswith(_GROUP) or key == labels.MANAGED_BY:
                yield f".metadata.{part}[{key}]", _REMOVE


def _pod(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field in spec:
        if field in OWNED_POD_FIELDS:
            yield f".spec.{field}", OWNED_POD_FIELDS[field]


def _volumes(spec: Mapping[str, Any], base: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    taken = {one["name"] for one in base["spec"]["volumes"]}
    for one in spec.get("volumes") or ():
        if one["name"] in taken:
            yield f".spec.volumes[{one['name']}]", "Arriero has a volume of this name: choose another"


def _runtime(spec: Mapping[str, Any], base: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    places = [mount["mountPath"] for mount in base["spec"]["containers"][0]["volumeMounts"]]
    for one in spec.get("containers") or ():
        if one["name"] != pod.CONTAINER:
            continue
        here = f".spec.containers[{pod.CONTAINER}]"
        for field in one:
            if field in OWNED_CONTAINER_FIELDS:
                yield f"{here}.{field}", OWNED_CONTAINER_FIELDS[field]
        for mount in one.get("volumeMounts") or ():
            path = str(mount.get("mountPath", "")).rstrip("/")
            if any(f"{place}/".startswith(f"{path}/") for place in places):
                yield f"{here}.volumeMounts[{path or '/'}]", "Arriero mounts a volume there: choose another path"
