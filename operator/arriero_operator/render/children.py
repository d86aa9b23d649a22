"""The model's children but for the pod template: each is the complete intent of one field manager."""

import json
from collections.abc import Mapping
from typing import Any, Final

from arriero_api import labels, pod
from arriero_api.contract import SCHEMA_VERSION, Registrations
from arriero_operator.render import names
from arriero_operator.render.owner import Json, Owner

CHANGED: Final = "arriero.dev/changed"
"""Annotation of a registration ConfigMap that has changed since it was made: when it last did (UTC, whole seconds)."""

_HISTORY: Final = 2
_NO_DEADLINE: Final = 2_147_483_647
"""Kubernetes counts a Deployment with this deadline as never stuck: the operator judges progress itself."""


def disruption_budget(owner: Owner) -> Json:
    """At most one pod at a time is evicted; one that does not serve may always be."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(owner, names.stem(owner.name)),
        "spec": {
            "maxUnavailable": 1,
            "selector": {"matchLabels": names.selector(owner.name)},
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }


def registrations(owner: Owner, revision: str, content: Registrations, changed: str) -> Json:
    """registrations.json of one revision; `changed` is when `content` last became another, empty: never."""
    head = metadata(owner, names.revisioned(owner.name, revision), revision)
    head["annotations"] |= {CHANGED: changed} if changed else {}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": head,
        "data": {pod.REGISTRATIONS_FILE: content.to_json()},
    }


def controller_revision(owner: Owner, revision: str, template: Json, number: int, operator: str) -> Json:
    """The immutable record of a revision; `number` grows from revision to revision."""
    head = metadata(owner, names.revisioned(owner.name, revision), revision)
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": head,
        "revision": number,
        "data": {
            "template": template,
            "inputsHash": revision,
            "schemaVersion": SCHEMA_VERSION,
            "operatorVersion": operator,
        },
    }


def deployment_template(owner: Owner, template: Json, inputs: str = "") -> Json:
    """The template manager's part of the Deployment: what comes from the stored revision.

    `inputs` is that revision's annotation, so that a revision that was lost can be had from here.
    """
    head: Json = {"name": names.stem(owner.name), "namespace": owner.namespace}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": head | ({"annotations": {labels.INPUTS: inputs}} if inputs else {}),
        "spec": {"selector": {"matchLabels": names.selector(owner.name)}, "template": template},
    }


def deployment_scale(
    owner: Owner, replicas: int, rolling: Mapping[str, Any], annotations: Mapping[str, str] | None = None
) -> Json:
    """The operator's own part of the Deployment: how many, and how they are replaced (`rolling`: rollingUpdate).

    `annotations` is what a rollout keeps on it.
    """
    head = metadata(owner, names.stem(owner.name))
    head["annotations"] |= annotations or {}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": head,
        "spec": {
            "replicas": replicas,
            "paused": False,  # one that is paused by hand would never roll; spec.paused is the way for that
            "minReadySeconds": 0,
            "revisionHistoryLimit": _HISTORY,
            "progressDeadlineSeconds": _NO_DEADLINE,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": dict(rolling)},
        },
    }


def deployment_whole(owner: Owner, replicas: int, rolling: Mapping[str, Any], template: Json, inputs: str = "") -> Json:
    """Both parts together, for the request that creates the Deployment: neither part alone is a right start."""
    whole = deployment_scale(owner, replicas, rolling, {labels.INPUTS: inputs} if inputs else None)
    whole["spec"] |= deployment_template(owner, template)["spec"]
    return whole


def stored_registrations(config_map: Mapping[str, Any] | None) -> str:
    """The text of registrations.json in a live ConfigMap; empty where there is none."""
    return str(((config_map or {}).get("data") or {}).get(pod.REGISTRATIONS_FILE, ""))


def canonical(intent: Mapping[str, Any]) -> str:
    """One text for equal intents."""
    return json.dumps(intent, sort_keys=True)


def metadata(owner: Owner, name: str, revision: str = "") -> Json:
    """Metadata of a child of this name."""
    return {
        "name": name,
        "namespace": owner.namespace,
        "labels": names.child_labels(owner.name, revision, owner.operator_class),
        "annotations": names.child_annotations(owner.name),
        "ownerReferences": [owner.reference()],
    }
