"""The pod template of a revision, as docs/contract.md says. It passes the restricted Pod Security level."""

from typing import Any, Final

from arriero_api import labels, pod, uris
from arriero_operator import quantity
from arriero_operator.render import names
from arriero_operator.render.inputs import Inputs

LOADED_FLAG: Final = "--max-cpu-loras="
"""Tells how many adapters the pods of a template hold."""

_USER: Final = 65532
_REGISTRATIONS: Final = "registrations"
_CACHE: Final = "cache"
_STATE: Final = "state"
_TMP: Final = "tmp"
_SHM: Final = "shm"
_MODEL: Final = "model"

Json = dict[str, Any]


def pod_template(model: str, inputs: Inputs) -> Json:
    """The whole PodTemplateSpec of the revision `inputs.hash` of `model`. Raises uris.UriError."""
    return {
        "metadata": {
            "labels": names.child_labels(model, inputs.hash) | {labels.SERVING: "true"},
            "annotations": names.child_annotations(model),
        },
        "spec": _pod(model, inputs),
    }


def _pod(model: str, inputs: Inputs) -> Json:
    spec: Json = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": pod.grace_period_seconds(inputs.drain_seconds),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(inputs)],
        "volumes": _volumes(model, inputs),
    }
    if inputs.node_selector:
        spec["nodeSelector"] = dict(inputs.node_selector)
    if inputs.tolerations:
        spec["tolerations"] = [dict(toleration) for toleration in inputs.tolerations]
    if inputs.runtime_class_name:
        spec["runtimeClassName"] = inputs.runtime_class_name
    return spec


def _container(inputs: Inputs) -> Json:
    return {
        "name": pod.CONTAINER,
        "image": inputs.image or inputs.default_image,
        "imagePullPolicy": inputs.image_pull_policy,
        "args": arguments(inputs),
        "env": _environment(inputs),
        "ports": [
            {"name": "http", "containerPort": pod.SERVE_PORT, "protocol": "TCP"},
            {"name": "control", "containerPort": pod.CONTROL_PORT, "protocol": "TCP"},
        ],
        "resources": _resources(inputs),
        "livenessProbe": _probe("/livez", period=10, timeout=5, failures=6),
        "readinessProbe": _probe("/readyz", period=2, timeout=3, failures=2),
        "terminationMessagePath": pod.TERMINATION_LOG,
        "terminationMessagePolicy": "File",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": _mounts(inputs),
    }


def _environment(inputs: Inputs) -> list[Json]:
    limit = int(quantity.parse(inputs.cache_size)) if inputs.cache_size else 0
    own = [{"name": pod.CACHE_LIMIT_VARIABLE, "value": str(limit)}] if limit else []
    return [*own, *(dict(variable) for variable in inputs.env)]


def arguments(inputs: Inputs) -> list[str]:
    """Arguments of the container, after the image's entry point."""
    # In one word each, so that no value is taken for an option.
    revision = [f"--revision={inputs.source_revision}"] if inputs.source_revision else []
    return [
        "serve",
        f"--model={inputs.uri}",
        *revision,
        "--registrations",
        f"{pod.REGISTRATIONS_DIR}/{pod.REGISTRATIONS_FILE}",
        "--cache-dir",
        pod.CACHE_DIR,
        "--state-dir",
        pod.STATE_DIR,
        "--request-timeout-seconds",
        str(inputs.request_timeout_seconds),
        "--drain-seconds",
        str(inputs.drain_seconds),
        "--endpoint-delay-seconds",
        str(pod.ENDPOINT_DELAY_SECONDS),
        "--",
        *engine_flags(inputs),
    ]


def engine_flags(inputs: Inputs) -> list[str]:
    """vLLM's flags: typed fields, then the profile's args, then the spec's."""
    flags = []
    if inputs.max_model_len is not None:
        flags.append(f"--max-model-len={inputs.max_model_len}")
    if inputs.dtype is not None:
        flags.append(f"--dtype={inputs.dtype}")
    if inputs.enforce_eager:
        flags.append("--enforce-eager")
    if inputs.max_num_seqs is not None:
        flags.append(f"--max-num-seqs={inputs.max_num_seqs}")
    if inputs.lora:
        room = inputs.lora
        flags += ["--enable-lora", f"--max-lora-rank={room['maxRank']}", f"--max-loras={room['maxActive']}"]
        flags.append(f"{LOADED_FLAG}{room['maxLoaded']}")
    return [*flags, *inputs.args]


def _resources(inputs: Inputs) -> Json:
    found = {"limits": inputs.limits, "requests": inputs.requests}
    return {name: dict(amounts) for name, amounts in found.items() if amounts}


def _probe(path: str, *, period: int, timeout: int, failures: int) -> Json:
    return {
        "httpGet": {"path": path, "port": "control"},
        "periodSeconds": period,
        "timeoutSeconds": timeout,
        "failureThreshold": failures,
    }


def _volumes(model: str, inputs: Inputs) -> list[Json]:
    volumes: list[Json] = [
        {"name": _REGISTRATIONS, "configMap": {"name": names.revisioned(model, inputs.hash)}},
        {"name": _CACHE, "emptyDir": {"sizeLimit": inputs.cache_size} if inputs.cache_size else {}},
        {"name": _STATE, "emptyDir": {}},
        {"name": _TMP, "emptyDir": {}},
        {"name": _SHM, "emptyDir": {"medium": "Memory", "sizeLimit": inputs.shared_memory}},
    ]
    source = uris.parse(inputs.uri)
    if source.scheme == uris.PVC:
        claim = {"claimName": source.location, "readOnly": True}
        volumes.append({"name": _MODEL, "persistentVolumeClaim": claim})
    return volumes


def _mounts(inputs: Inputs) -> list[Json]:
    mounts: list[Json] = [
        {"name": _REGISTRATIONS, "mountPath": pod.REGISTRATIONS_DIR, "readOnly": True},
        {"name": _CACHE, "mountPath": pod.CACHE_DIR},
        {"name": _STATE, "mountPath": pod.STATE_DIR},
        {"name": _TMP, "mountPath": "/tmp"},
        {"name": _SHM, "mountPath": "/dev/shm"},
    ]
    if uris.parse(inputs.uri).scheme == uris.PVC:
        mounts.append({"name": _MODEL, "mountPath": pod.CLAIM_DIR, "readOnly": True})
    return mounts
