"""Constraints of an answer that the engine's grammar compiler should not see.

It compiles them one after another and cannot be interrupted: one that takes minutes stops every other request that has
a constraint, and some end in the middle of the answer, or never.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from arriero_runtime.server import tool_forms

MAX_BYTES: Final = 64 * 1024
"""Of a schema, a grammar, an expression or all choices, as JSON."""
MAX_PROPERTIES: Final = 500
"""Of one object; optional ones cost by their square."""
MAX_REPEATS: Final = 50_000
"""The sum of all bounds on lengths and repetitions; about two seconds."""
_LENGTHS: Final = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_BRACES: Final = re.compile(r"\{(\d+)(?:,(\d*))?\}")

_SCHEMAS_OF_TOOLS: Final = (("function", "parameters"), ("parameters",), ("input_schema",))
"""As chats, responses and messages have them."""

Fault = tuple[str, str]
"""The parameter, and what is wrong with it."""


def fault(request: Mapping[str, Any]) -> Fault | None:
    """The first constraint of a request that cannot be used."""
    for where, value in _constraints(request):
        if words := _wrong(value):
            return where, words
    return None


def _constraints(request: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for where, path in (
        ("response_format", ("json_schema",)),
        ("response_format", ("structures",)),
        ("response_format", ("format",)),
        ("text", ("format", "schema")),
        ("output_config", ("format", "schema")),
    ):
        found = _at(request.get(where), path)
        if found is not None:
            yield where, _inner(found)
    outputs = request.get("structured_outputs")
    if isinstance(outputs, dict):
        yield from (("structured_outputs", _read(value)) for value in outputs.values() if value is not None)
    for where, tool in tool_forms.offered(request):
        for path in _SCHEMAS_OF_TOOLS:
            found = _at(tool, path)
            if found is not None:
                yield where, found


def _inner(value: Any) -> Any:
    """OpenAI wraps a schema with its name; Llama Stack does not."""
    wrapped = isinstance(value, dict) and "schema" in value and not {"type", "properties", "$ref"} & value.keys()
    return value["schema"] if wrapped else value


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _read(value: Any) -> Any:
    """A schema may be written as a text."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _wrong(value: Any) -> str:
    try:
        size = len(json.dumps(value))
    except (ValueError, RecursionError):
        return "is nested too deeply"
    if size > MAX_BYTES:
        return f"holds a constraint of {size} bytes; {MAX_BYTES} are allowed"
    repeats = 0
    for part in _parts(value):
        if isinstance(part, str):
            repeats += sum(_repeats(part))
        elif isinstance(part, dict):
            if words := _wrong_schema(part, value):
                return words
            repeats += sum(part[name] for name in _LENGTHS if isinstance(part.get(name), int))
    if repeats > MAX_REPEATS:
        return f"bounds lengths and repetitions by {repeats} in all; {MAX_REPEATS} are allowed"
    return ""


def _repeats(text: str) -> Iterator[int]:
    for found in _BRACES.finditer(text):
        # Longer numbers are none that anybody could mean.
        yield from (int(number[:9]) for number in found.groups() if number)


def _wrong_schema(part: dict[str, Any], whole: Any) -> str:
    properties = part.get("properties")
    if isinstance(properties, dict) and len(properties) > MAX_PROPERTIES:
        return f"has an object of {len(properties)} properties; {MAX_PROPERTIES} are allowed"
    for name in _LENGTHS:
        if isinstance(part.get(name), int) and part[name] < 0:
            return f"has a negative '{name}'"
    if isinstance(part.get("$ref"), str) and _leads_nowhere(part, whole):
        return f"has a reference that leads only to itself: {part['$ref']!r}"
    return ""


def _leads_nowhere(part: dict[str, Any], whole: Any) -> bool:
    seen: set[str] = set()
    target: Any = part
    while isinstance(target, dict) and isinstance(target.get("$ref"), str):
        reference = target["$ref"]
        if reference in seen:
            return True
        seen.add(reference)
        if not reference.startswith("#"):
            return False
        target = _at_pointer(whole, reference[1:])
    return False


def _at_pointer(whole: Any, pointer: str) -> Any:
    for name in pointer.split("/")[1:]:
        name = name.replace("~1", "/").replace("~0", "~")
        whole = whole.get(name) if isinstance(whole, dict) else None
    return whole


def _parts(value: Any) -> Iterator[Any]:
    stack = [value]
    while stack:
        part = stack.pop()
        yield part
        if isinstance(part, dict):
            stack += part.values()
        elif isinstance(part, list):
            stack += part
