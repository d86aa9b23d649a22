"""Files that the resource and its namespace give to a pod: the chat template and the API key."""

from pathlib import PurePosixPath
from typing import Any, Final

from arriero_api import pod
from arriero_operator.render.inputs import Inputs

TEMPLATE_ANNOTATION: Final = "arriero.dev/chat-template"
"""Annotation of pods: an inline template. So it is part of the revision, and needs no object of its own."""

_TEMPLATE: Final = "chat-template"
_API_KEY: Final = "api-key"
_TEMPLATE_PATH: Final = PurePosixPath(pod.CHAT_TEMPLATE_FILE)
_API_KEY_PATH: Final = PurePosixPath(pod.API_KEY_FILE)

Json = dict[str, Any]


def annotations(inputs: Inputs) -> dict[str, str]:
    """Of the pod."""
    return {TEMPLATE_ANNOTATION: inputs.chat_template["inline"]} if "inline" in inputs.chat_template else {}


def volumes(inputs: Inputs) -> list[Json]:
    """One volume for each file."""
    found: list[Json] = []
    if inputs.chat_template:
        found.append({"name": _TEMPLATE, **_template(inputs)})
    if inputs.api_key:
        items = [{"key": inputs.api_key["key"], "path": _API_KEY_PATH.name}]
        found.append({"name": _API_KEY, "secret": {"secretName": inputs.api_key["name"], "items": items}})
    return found


def mounts(inputs: Inputs) -> list[Json]:
    """Whole folders: a single file would not follow a changed Secret."""
    found = []
    if inputs.chat_template:
        found.append({"name": _TEMPLATE, "mountPath": str(_TEMPLATE_PATH.parent), "readOnly": True})
    if inputs.api_key:
        found.append({"name": _API_KEY, "mountPath": str(_API_KEY_PATH.parent), "readOnly": True})
    return found


def _template(inputs: Inputs) -> Json:
    if "inline" in inputs.chat_template:
        field = {"fieldPath": f"metadata.annotations['{TEMPLATE_ANNOTATION}']"}
        return {"downwardAPI": {"items": [{"path": _TEMPLATE_PATH.name, "fieldRef": field}]}}
    ref = inputs.chat_template["configMapKeyRef"]
    return {"configMap": {"name": ref["name"], "items": [{"key": ref["key"], "path": _TEMPLATE_PATH.name}]}}
