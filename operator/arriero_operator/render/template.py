"""The pod template of a revision, as docs/contract.md says. It passes the restricted Pod Security level."""

from functools import reduce
from typing import Any, Final

from arriero_api import labels, pod
from arriero_operator import quantity
from arriero_operator.render import files, names, placement, podtemplate
from arriero_operator.render.arguments import arguments
from arriero_operator.render.inputs import Inputs
from arriero_operator.render.volumes import mounts, volumes

_USER: Final = 65532

Json = dict[str, Any]


def pod_template(model: str, inputs: Inputs, operator_class: str = labels.DEFAULT_CLASS) -> Json:
    """The whole PodTemplateSpec of the revision `inputs.hash` of `model`. Raises uris.UriError."""
    return laid_over(own_template(model, inputs, operator_class), inputs)


def laid_over(plain: Json, inputs: Inputs) -> Json:
    """The template with the podTemplates of `inputs` laid over it."""
    return reduce(podtemplate.merged, inputs.pod_templates, plain)


def own_template(model: str, inputs: Inputs, operator_class: str = labels.DEFAULT_CLASS) -> Json:
    """The same without any podTemplate laid over it."""
    return {
        "metadata": {
            "labels": names.child_labels(model, inputs.hash, operator_class) | {labels.SERVING: "true"},
            "annotations": names.child_annotations(model) | files.annotations(inputs),
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
        "containers": [_container(model, inputs)],
        "volumes": volumes(model, inputs),
    }
    return spec | placement.placement(model, inputs)


def _container(model: str, inputs: Inputs) -> Json:
    return {
        "name": pod.CONTAINER,
        "image": inputs.image or inputs.default_image,
        "imagePullPolicy": inputs.image_pull_policy,
        "args": arguments(inputs),
        "env": _environment(model, inputs),
        **({"envFrom": [dict(one) for one in inputs.env_from]} if inputs.env_from else {}),
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
        "volumeMounts": mounts(inputs),
    }


def _environment(model: str, inputs: Inputs) -> list[Json]:
    own = {pod.RESOURCE_VARIABLE: model}
    if inputs.cache_size:
        own[pod.CACHE_LIMIT_VARIABLE] = str(int(quantity.parse(inputs.cache_size)))
    return [
        *({"name": name, "value": value} for name, value in own.items()),
        *(dict(variable) for variable in inputs.env),
    ]


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
