"""The CustomResourceDefinition, made from the typed resource.

pydantic's schema is turned into a structural one, as Kubernetes wants it: references inlined, `null` alternatives
dropped (absence says the same), titles dropped, objects closed. What has no structural form raises `SchemaError`, and
so does a list, map or string without a maximum: CEL's cost estimate and etcd both need the bound.
"""

from collections.abc import Mapping
from typing import Any

from arriero_api.labels import GROUP, KIND, PLURAL, VERSION
from arriero_api.types import InferenceModel

Json = dict[str, Any]

_KEPT = (
    "description",
    "type",
    "enum",
    "pattern",
    "format",
    "default",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
)

_OPEN = "x-kubernetes-preserve-unknown-fields"

COLUMNS: tuple[Json, ...] = (
    {"name": "Model", "type": "string", "jsonPath": ".spec.model.uri"},
    {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
    {"name": "Reason", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].reason'},
    {"name": "Progress", "type": "string", "jsonPath": ".status.progress.message"},
    {"name": "Replicas", "type": "integer", "jsonPath": ".status.readyReplicas"},
    {"name": "URL", "type": "string", "jsonPath": ".status.url"},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    {"name": "Revision", "type": "string", "jsonPath": ".status.model.revision", "priority": 1},
    {"name": "Profile", "type": "string", "jsonPath": ".status.profile", "priority": 1},
    {"name": "Accelerators", "type": "string", "jsonPath": ".status.accelerators", "priority": 1},
    # Last, as it may be long: what to do must be seen without asking for more.
    {"name": "Message", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].message'},
)


class SchemaError(TypeError):
    """A type of the resource has no structural schema; the text names its path."""


def definition() -> Json:
    """The CRD as JSON, ready to be applied."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": KIND.lower(),
                "shortNames": ["im"],
                "categories": ["arriero"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {
                        "status": {},
                        "scale": {
                            "specReplicasPath": ".spec.replicas",
                            "statusReplicasPath": ".status.replicas",
                            "labelSelectorPath": ".status.selector",
                        },
                    },
                    "additionalPrinterColumns": list(COLUMNS),
                    "schema": {"openAPIV3Schema": _root()},
                }
            ],
        },
    }


def _root() -> Json:
    generated = InferenceModel.model_json_schema(by_alias=True, mode="validation")
    schema = structural(generated, generated.get("$defs", {}), "")
    schema["properties"] = {
        "apiVersion": {"type": "string", "description": f"{GROUP}/{VERSION}"},
        "kind": {"type": "string", "description": KIND},
        "metadata": {"type": "object"},
        **schema["properties"],
    }
    return schema


def structural(node: Json, definitions: Mapping[str, Json], path: str) -> Json:
    """One node of pydantic's schema as a structural one. Raises SchemaError."""
    node = _resolved(node, definitions)
    if node.get("x-kubernetes-int-or-string"):
        return {**_copied(node), "x-kubernetes-int-or-string": True, **_extensions(node)}
    out = {**_copied(node), **_extensions(node)}
    if path.startswith(".spec.") and "description" in out:
        out["description"] += _default_in_words(out) + _bound_in_words(out, node)
    match node.get("type"):
        case "object":
            _add_object(out, node, definitions, path)
        case "array":
            out["items"] = structural(node["items"], definitions, f"{path}[]")
            _require(out, "maxItems", path)
        case "string":
            if "enum" not in out and "const" not in node:
                _require(out, "maxLength", path)
        case "integer" | "boolean" | "number":
            pass
        case other:
            raise SchemaError(f"{path}: type {other!r} has no structural schema")
    return out


def _add_object(out: Json, node: Json, definitions: Mapping[str, Json], path: str) -> None:
    if node.get(_OPEN):
        out[_OPEN] = True
        _require(out, "maxProperties", path)
    elif "properties" in node:
        out["properties"] = {k: structural(v, definitions, f"{path}.{k}") for k, v in node["properties"].items()}
        if node.get("required"):
            out["required"] = list(node["required"])
    elif isinstance(node.get("additionalProperties"), dict):
        out["additionalProperties"] = structural(node["additionalProperties"], definitions, f"{path}.*")
        _require(out, "maxProperties", path)
    else:
        raise SchemaError(f"{path}: an object needs properties or typed values")


def _resolved(node: Json, definitions: Mapping[str, Json]) -> Json:
    """`node` with its reference and its null alternative taken away; the outer description and default win."""
    while True:
        if "$ref" in node:
            target = definitions[node["$ref"].rsplit("/", 1)[1]]
            node = {**target, **{k: v for k, v in node.items() if k != "$ref"}}
        elif "anyOf" in node and not node.get("x-kubernetes-int-or-string"):
            choices = [c for c in node["anyOf"] if c.get("type") != "null"]
            if len(choices) != 1:
                raise SchemaError(f"a choice between {len(choices)} types has no structural schema")
            node = {**choices[0], **{k: v for k, v in node.items() if k != "anyOf"}}
        else:
            return node


def _default_in_words(out: Json) -> str:
    """`kubectl explain` tells the description, and neither the default nor the bound."""
    if "default" not in out or out["type"] == "object":
        return ""
    default = out["default"]
    return f" Default: {str(default).lower() if isinstance(default, bool) else default}."


def _bound_in_words(out: Json, node: Json) -> str:
    """Of a list, or of a map whose keys are the user's own."""
    bound = out.get("maxProperties") if isinstance(node.get("additionalProperties"), dict) else out.get("maxItems")
    return f" At most {bound}." if bound else ""


def _copied(node: Json) -> Json:
    out = {key: node[key] for key in _KEPT if key in node}
    if out.get("default", ...) is None:
        del out["default"]
    if "const" in node:
        out |= {"type": "string", "enum": [node["const"]]}
    return out


def _extensions(node: Json) -> Json:
    return {key: value for key, value in node.items() if key.startswith("x-kubernetes-") and value is not True}


def _require(out: Json, bound: str, path: str) -> None:
    if bound not in out:
        raise SchemaError(f"{path}: needs {bound}")
