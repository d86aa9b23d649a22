"""A choice of tools that the answer has to follow, as a constraint for the engine."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from arriero_runtime.native.formats.written import BUILT_IN, as_json, literal

Function = Mapping[str, Any]
"""Name, description and parameters (JSON schema), as the OpenAI API has them."""
_TYPES: Final = {
    "string": "text",
    "integer": "int",
    "number": "number",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
}
"""Type of a parameter → rule of the grammar."""
_COMMON: Final = r"""
text ::= "\"" char* "\""
char ::= [^"\\\x00-\x1f] | "\\" ["\\/bfnrt]
int ::= "-"? ("0" | [1-9] [0-9]*)
number ::= int ("." [0-9]+)?
list ::= "[" (value (", " value)*)? "]"
dict ::= "{" (text ": " value (", " text ": " value)*)? "}"
value ::= text | number | bool | none | list | dict
"""
_LISTS: Final = 3
"""How deep in each other lists are held to the type of what is in them; each level writes that type twice."""
_PYTHON: Final = 'bool ::= "True" | "False"\nnone ::= "None"\n'
_JSON: Final = 'bool ::= "true" | "false"\nnone ::= "null"\n'


def constraint(functions: Sequence[Function], form: str) -> dict[str, Any]:
    """`structured_outputs` of a request: the answer is a call of one of these functions, in this format.

    In the format json its arguments keep to their schema. In the others each is of its parameter's type, or one of its
    `enum`, and so is what is in lists; in python_list there may be several calls.
    """
    if form == "json":
        return {"json": {"anyOf": [_object(function) for function in functions]}}
    rules = [f"f{number}" for number in range(len(functions))]
    one = " | ".join(rules)
    python = form == "python_list"
    root = f'root ::= "[" call (", " call)* "]"\ncall ::= {one}' if python else f"root ::= {one}"
    calls = [f"{rule} ::= {_call(function, python)}" for rule, function in zip(rules, functions, strict=True)]
    return {"grammar": "\n".join([root, *calls]) + _COMMON + (_PYTHON if python else _JSON)}


def _object(function: Function) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "type": {"const": "function"},
            "name": {"const": function["name"]},
            "parameters": {**function["parameters"], "additionalProperties": False},
        },
        "required": ["type", "name", "parameters"],
        "additionalProperties": False,
    }


def _call(function: Function, python: bool) -> str:
    name, schema = function["name"], function["parameters"]
    if python and name in BUILT_IN and list(schema["properties"]) == ["query"]:
        name = f"{name}.call"
    arguments = _arguments(schema, python)
    if python:
        return " ".join([_quoted(f"{name}("), *arguments, _quoted(")")])
    return " ".join([_quoted(f"<function={name}>{{"), *arguments, _quoted("}</function>")])


def _arguments(schema: Mapping[str, Any], python: bool) -> list[str]:
    """Those that are required, then the others, each once and in order."""
    needed = [key for key in schema["properties"] if key in schema.get("required", ())]
    free = [key for key in schema["properties"] if key not in needed]
    one = {key: _argument(key, value, python) for key, value in schema["properties"].items()}
    found = [part for number, key in enumerate(needed) for part in ([_quoted(", ")] if number else []) + [one[key]]]
    if needed:
        return found + [f"({_quoted(', ')} {one[key]})?" for key in free]
    ways = [
        " ".join([one[key], *(f"({_quoted(', ')} {one[later]})?" for later in free[number + 1 :])])
        for number, key in enumerate(free)
    ]
    return [f"({' | '.join(ways)})?"] if ways else []


def _argument(key: str, schema: Mapping[str, Any], python: bool) -> str:
    return f"{_quoted(f'{key}=' if python else f'{as_json(key)}: ')} {_rule(schema, python)}"


def _rule(schema: Mapping[str, Any], python: bool, lists: int = 0) -> str:
    if values := schema.get("enum"):
        return f"({' | '.join(_quoted(literal(value) if python else as_json(value)) for value in values)})"
    if schema.get("type") == "array" and isinstance(items := schema.get("items"), dict) and lists < _LISTS:
        one = _rule(items, python, lists + 1)
        return f'("[" ({one} (", " {one})*)? "]")'
    return _TYPES.get(str(schema.get("type", "")), "value")


def _quoted(text: str) -> str:
    return as_json(text)
