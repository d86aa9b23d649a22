"""The generated CRD: structural, bounded, and silent about what the operator does not decide."""

from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from pydantic import Field

from arriero_api.crd import SchemaError, definition, structural
from arriero_api.schema import Schema

Json = dict[str, Any]


def _version() -> Json:
    version: Json = definition()["spec"]["versions"][0]
    return version


def _nodes(node: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    yield path, node
    for name, child in node.get("properties", {}).items():
        yield from _nodes(child, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            yield from _nodes(node[key], f"{path}[]")


SCHEMA = _version()["schema"]["openAPIV3Schema"]


def test_defaults_stand_only_where_the_operator_decides() -> None:
    defaults = {path for path, node in _nodes(SCHEMA) if path.startswith(".spec") and "default" in node}
    rollout = {"strategy", "surgeWaitSeconds", "surgeWaitMaxSeconds", "progressDeadlineSeconds", "rollback"}
    assert defaults == {
        ".spec.replicas",
        *(f".spec.lora.{field}" for field in ("maxRank", "maxActive", "maxLoaded")),
        ".spec.serving.requestTimeoutSeconds",
        ".spec.serving.allowRequestAbort",
        ".spec.service.type",
        ".spec.service.port",
        ".spec.operatorClass",
        ".spec.paused",
        *(f".spec.rollout.{field}" for field in rollout),
    }


def test_every_field_of_the_spec_is_described() -> None:
    fields = [(path, node) for path, node in _nodes(SCHEMA["properties"]["spec"], "spec") if not path.endswith("[]")]
    assert [path for path, node in fields if not node.get("description")] == []


def test_every_default_is_told_in_words_as_kubectl_explain_tells_no_others() -> None:
    fields = {path: node for path, node in _nodes(SCHEMA["properties"]["spec"], "spec") if "default" in node}
    assert fields["spec.replicas"]["description"].endswith("Default: 1.")
    assert fields["spec.paused"]["description"].endswith("Default: false.")
    assert [path for path, node in fields.items() if "efault" not in node["description"]] == []


@pytest.mark.parametrize("part", ["spec", "status"])
def test_every_list_map_quantity_and_string_has_a_maximum(part: str) -> None:
    bounds = {"array": "maxItems", "string": "maxLength", "quantity": "maxLength", "map": "maxProperties"}
    seen = set[str]()
    for path, node in _nodes(SCHEMA["properties"][part], part):
        kind = _kind(node)
        if kind in bounds and "enum" not in node:
            assert bounds[kind] in node, path
            seen.add(kind)
    assert seen == (set(bounds) if part == "spec" else {"array", "string"})


def _kind(node: Json) -> str:
    if node.get("x-kubernetes-int-or-string"):
        return "quantity"
    if "additionalProperties" in node or node.get("x-kubernetes-preserve-unknown-fields"):
        return "map"
    return str(node.get("type"))


def test_how_many_entries_a_list_or_map_takes_is_told_in_words() -> None:
    fields = {path: node for path, node in _nodes(SCHEMA["properties"]["spec"], "spec")}
    assert fields["spec.resources.limits"]["description"].endswith(" At most 16.")
    for path, node in fields.items():
        if "maxItems" in node or "additionalProperties" in node:
            bound = node.get("maxItems") or node["maxProperties"]
            assert node["description"].endswith(f" At most {bound}."), path


def test_an_unbounded_string_cannot_be_generated() -> None:
    class Loose(Schema):
        text: str

    with pytest.raises(SchemaError, match=r"\.text: needs maxLength"):
        structural(Loose.model_json_schema(), {}, "")


def test_a_choice_between_two_types_cannot_be_generated() -> None:
    class Two(Schema):
        value: int | Annotated[str, Field(max_length=3)]

    with pytest.raises(SchemaError, match="choice between 2 types"):
        structural(Two.model_json_schema(), {}, "")


def test_the_columns_answer_what_a_user_asks_first() -> None:
    columns = [c["name"] for c in _version()["additionalPrinterColumns"] if not c.get("priority")]
    assert columns == ["Model", "Ready", "Reason", "Progress", "Replicas", "URL", "Age", "Message"]
