"""What one field manager has set of an object: as the API server keeps it in managedFields."""

import json
from collections.abc import Mapping
from typing import Any

from arriero_api import labels, pod
from arriero_operator.kube.protocol import Object


def template_of(live: Object) -> Object | None:
    """The pod template as the operator last applied it: without what the API server and others have put in.

    None where the object does not tell who has set what, or where a part is another's by now.
    """
    for entry in live["metadata"].get("managedFields") or ():
        if entry["manager"] == labels.TEMPLATE_MANAGER and entry["operation"] == "Apply":
            found = set_in(live, entry["fieldsV1"]).get("spec", {}).get("template")
            return found if isinstance(found, dict) and _whole(found) else None
    return None


def _whole(template: Object) -> bool:
    """Whether the runtime's container is there with its image, which somebody else may have set since."""
    containers = (template.get("spec") or {}).get("containers") or ()
    return any(one.get("name") == pod.CONTAINER and one.get("image") for one in containers)


def set_in(live: Any, fields: Mapping[str, Any]) -> Any:
    """The part of a value that is set by who has set these fields (FieldsV1 of the API, structured-merge-diff)."""
    inner = {key: below for key, below in fields.items() if key != "."}
    if isinstance(live, list):
        if not inner:
            return [] if fields else live
        return [set_in(one, below) for one in live if (below := _below(one, inner)) is not None]
    if not inner or not isinstance(live, Mapping):
        return {} if fields and isinstance(live, Mapping) else live
    named = {key.removeprefix("f:"): below for key, below in inner.items()}
    return {name: set_in(live[name], below) for name, below in named.items() if name in live}


def _below(one: Any, fields: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The fields below this element of a list; None where it is another's."""
    for key, below in fields.items():
        kind, _, text = key.partition(":")
        said = json.loads(text)
        if one == said if kind == "v" else all(one.get(name) == value for name, value in said.items()):
            return below
    return None
