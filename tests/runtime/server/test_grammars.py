"""Constraints that would hold up the engine's compiler, or never end, do not reach it."""

import json
from typing import Any

import pytest

from arriero_runtime.server import constraints, grammars, screen


def namespace(schema: Any) -> dict[str, Any]:
    """Tools of the Responses API, one of them inside of another."""
    inner = {"type": "function", "name": "f", "strict": True, "parameters": schema}
    return {"tools": [{"type": "namespace", "name": "n", "description": "d", "tools": [inner]}]}


def addition(tool: dict[str, Any]) -> dict[str, Any]:
    """A tool of Anthropic's API that comes in the middle of a conversation."""
    change = {"type": "tool_definition", "definition": {"name": "f", **tool}}
    return {"messages": [{"role": "system", "content": [{"type": "tool_addition", "tool": change}]}]}


def fault(schema: Any) -> str:
    found = grammars.fault({"response_format": {"type": "json_schema", "json_schema": {"schema": schema}}})
    return found[1] if found else ""


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "string", "maxLength": 5000}}, "required": ["a"]},
        {"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}}}},
        {"type": "array", "items": {"$ref": "#"}},
        {"type": "string", "pattern": "^[a-z]{1,20}$"},
        {"type": "object", "properties": {f"k{i}": {"type": "string"} for i in range(300)}},
        {"properties": {"minLength": {"type": "integer"}, "$ref": {"type": "string"}}},
    ],
)
def test_usual_schemas_pass(schema: dict[str, Any]) -> None:
    assert fault(schema) == ""


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": "#"}, "leads only to itself"),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
            "leads only to itself",
        ),
        ({"type": "string", "minLength": -5}, "negative 'minLength'"),
        ({"type": "object", "properties": {f"k{i}": {} for i in range(501)}}, "501 properties"),
        ({"description": "x" * grammars.MAX_BYTES}, "bytes"),
        ({"type": "string", "maxLength": 10**9}, "repetitions"),
        ({"items": [{"pattern": f"[^x]{{1,{5000 + i}}}"} for i in range(20)]}, "repetitions"),
    ],
)
def test_what_would_hold_up_the_compiler_is_refused_with_the_bound(schema: dict[str, Any], words: str) -> None:
    assert words in fault(schema)


@pytest.mark.parametrize(
    ("where", "request_"),
    [
        ("structured_outputs", {"structured_outputs": {"regex": "[^x]{1,100000}"}}),
        ("structured_outputs", {"structured_outputs": {"json": '{"$ref": "#"}'}}),
        ("structured_outputs", {"structured_outputs": {"choice": ["a" * i for i in range(900)]}}),
        ("tools", {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"$ref": "#"}}}]}),
        ("text", {"text": {"format": {"type": "json_schema", "name": "s", "schema": {"$ref": "#"}}}}),
        ("response_format", {"response_format": {"type": "json_schema", "json_schema": {"$ref": "#"}}}),
        ("output_config", {"output_config": {"format": {"type": "json_schema", "schema": {"$ref": "#"}}}}),
        ("tools", {"tools": [{"name": "f", "input_schema": {"type": "string", "maxLength": 10**9}}]}),
        ("tools", namespace({"$ref": "#"})),
        ("messages", addition({"input_schema": {"$ref": "#"}})),
    ],
)
def test_each_place_for_a_constraint_is_looked_at_and_named(where: str, request_: dict[str, Any]) -> None:
    messages = where == "output_config" or "input_schema" in str(request_)
    responses = where == "text" or "namespace" in str(request_)
    path = "/v1/messages" if messages else "/v1/responses" if responses else "/v1/chat/completions"
    for asked in {path, "/v1/inference/chat-completion"} if where == "response_format" else {path}:
        found = screen.refusal(asked, json.dumps({"model": "one", **request_}).encode())
        assert found is not None
        assert (found.status, found.extra["param"]) == (400, where)


@pytest.mark.parametrize(
    ("where", "request_"),
    [
        ("output_config", {"output_config": {"format": {"type": "json_schema", "schema": {}}}}),
        ("tools", {"tools": [{"name": "f", "input_schema": {}}], "tool_choice": {"type": "any"}}),
        ("messages", addition({"input_schema": {}, "strict": True})),
        ("messages", {**addition({"input_schema": {}}), "tool_choice": {"type": "any"}}),
        ("tools", namespace({})),
        ("", {**namespace({}), "tool_choice": "none"}),
        ("", addition({"input_schema": {}})),
        ("", {"output_config": {"effort": "low"}, "tools": [], "messages": []}),
    ],
)
def test_what_binds_an_answer_is_named(where: str, request_: dict[str, Any]) -> None:
    assert constraints.binding(json.dumps(request_).encode()) == where


@pytest.mark.parametrize("odd", [None, 5, "x", [], [1], {"json_schema": 5}, {"json_schema": {"schema": None}}])
def test_what_is_no_constraint_is_left_to_the_engine(odd: Any) -> None:
    for name in ("response_format", "structured_outputs", "tools", "messages", "text"):
        assert grammars.fault({name: odd}) is None
    for block in ({"tool": odd}, {"tool": {"definition": odd}}):
        assert grammars.fault({"messages": [{"content": odd}, {"content": [odd, block]}]}) is None
    assert grammars.fault({"tools": [{"tools": odd}]}) is None
