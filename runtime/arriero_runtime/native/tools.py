"""Tools that a caller offers, and its choice of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from arriero_runtime.native import wire
from arriero_runtime.native.errors import Refused, invalid
from arriero_runtime.native.formats.written import FORMATS

_TYPES: Final = {
    "str": "string",
    "string": "string",
    "int": "integer",
    "integer": "integer",
    "float": "number",
    "number": "number",
    "bool": "boolean",
    "boolean": "boolean",
    "list": "array",
    "array": "array",
    "tuple": "array",
    "dict": "object",
    "object": "object",
}
"""Type of a parameter, in the words of Python or of JSON schema → JSON schema."""


def _one(name: str, description: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string", "description": description}}, "required": [name]}


_BUILT_IN: Final = {
    "brave_search": ("Search the web.", _one("query", "What to search for.")),
    "wolfram_alpha": ("Ask Wolfram Alpha for facts and calculations.", _one("query", "The question.")),
    "photogen": ("Make an image.", _one("query", "What the image shows.")),
    "code_interpreter": ("Run Python code.", _one("code", "The code.")),
}
"""Tools that Llama Stack knows by name alone: description, parameters."""


_NO_CONFIG: Final = wire.ToolConfig()


@dataclass(frozen=True, slots=True)
class Offer:
    """`payload` goes into a request that is made by the model's own chat template; `names` are those that a call may
    have; `notes` are for the caller.

    For other prompts: `functions` are the tools as the OpenAI API has them, `own` the names of those whose parameters
    the caller has described, `shape` the format of calls if one is asked for, `choice` auto, required or a name.
    """

    payload: dict[str, Any] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    functions: tuple[dict[str, Any], ...] = ()
    own: frozenset[str] = frozenset()
    shape: str | None = None
    choice: str = "auto"


def offered(request: wire.ChatOptions, *, prompts: bool = False) -> Offer:
    """What the request says of tools. `prompts` tells that the prompt is Llama Stack's. Raises Refused."""
    config = request.tool_config or _NO_CONFIG
    choice, shape = config.tool_choice, config.tool_prompt_format
    if isinstance(request, wire.ChatCompletion):
        choice = _agreed("tool_choice", choice, request.tool_choice)
        shape = _agreed("tool_prompt_format", shape, request.tool_prompt_format)
    if shape is not None and shape not in FORMATS:
        raise invalid("tool_prompt_format", f"must be one of {', '.join(FORMATS)}")
    choice = choice or "auto"
    tools = request.tools or []
    names = frozenset(tool.tool_name for tool in tools)
    if choice not in ("auto", "none") and not tools:
        raise invalid("tool_choice", f"'{choice}' needs tools")
    if choice == "none" or not tools:
        return Offer(shape=shape)
    if choice not in ("auto", "required") and choice not in names:
        raise invalid("tool_choice", f"'{choice}' is neither auto, required, none nor one of the tools")
    if config.system_message_behavior == "replace" and not prompts:
        raise invalid("tool_config.system_message_behavior", _NO_REPLACE)
    # A call that is forced is forced by a grammar: with the arguments' schema in it, it can always be made.
    listed = _listed(tools, strict=choice != "auto")
    return Offer(
        {"tools": listed, "tool_choice": _choice(choice)},
        names,
        () if shape is None or prompts else (_NO_FORMAT,),
        tuple(one["function"] for one in listed),
        frozenset(tool.tool_name for tool in tools if tool.parameters),
        shape,
        choice,
    )


_NO_REPLACE: Final = (
    "'replace' is not possible with tools, as the model's own chat template describes them; use 'append', or "
    "spec.engine.chatFormat: LlamaStack"
)
_NO_FORMAT: Final = "tool_prompt_format has no effect: the model's own chat template describes tools"


def _agreed(name: str, in_config: str | None, alone: str | None) -> str | None:
    if in_config is not None and alone is not None and in_config != alone:
        raise invalid(name, f"differs from tool_config.{name}")
    return alone if in_config is None else in_config


def _choice(choice: str) -> str | dict[str, Any]:
    if choice in ("auto", "required"):
        return choice
    return {"type": "function", "function": {"name": choice}}


def _listed(tools: Sequence[wire.Tool], *, strict: bool) -> list[dict[str, Any]]:
    names = [tool.tool_name for tool in tools]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise invalid("tools", f"'{twice[0]}' is there twice")
    extra = {"strict": True} if strict else {}
    return [
        {"type": "function", "function": {**_function(tool, f"tools[{i}]"), **extra}} for i, tool in enumerate(tools)
    ]


def _function(tool: wire.Tool, where: str) -> dict[str, Any]:
    description, schema = _BUILT_IN.get(tool.tool_name, ("", {"type": "object", "properties": {}}))
    if tool.parameters:
        schema = _schema(tool.parameters, f"{where}.parameters")
    words = tool.description or description
    return {"name": tool.tool_name, **({"description": words} if words else {}), "parameters": schema}


def _schema(parameters: dict[str, wire.ToolParameter], where: str) -> dict[str, Any]:
    properties = {name: _property(parameter, f"{where}.{name}") for name, parameter in parameters.items()}
    required = [name for name, parameter in parameters.items() if parameter.required is not False]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _property(parameter: wire.ToolParameter, where: str) -> dict[str, Any]:
    found: dict[str, Any] = _type(parameter.param_type.strip(), where)
    for name, kind in _INNER.items():
        if (inner := getattr(parameter, name)) is None:
            continue
        if found["type"] != kind or name in found:
            raise invalid(f"{where}.{name}", f"does not go with param_type '{parameter.param_type}'")
        found[name] = inner
    _check(found, where)
    texts = {"title": parameter.title, "description": parameter.description}
    found |= {name: text for name, text in texts.items() if text}
    values = {"default": parameter.default, "enum": parameter.enum}
    return found | {name: value for name, value in values.items() if value is not None}


_INNER: Final = {"items": "array", "properties": "object"}
"""What a parameter may say of what is in it → the type that has it."""


_DEEPEST: Final = 8
"""Levels of what is in a list or an object; calls that are forced are made of each."""


def _check(schema: Any, where: str, level: int = 0) -> None:
    """Whether it can be read as a JSON schema where calls depend on it. Raises Refused."""
    if level > _DEEPEST:
        raise invalid(where, f"is more than {_DEEPEST} levels deep")
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        raise invalid(where, "must be a JSON schema, an object")
    if "enum" in schema and not (isinstance(schema["enum"], list) and schema["enum"]):
        raise invalid(f"{where}.enum", "must be a list of at least one value")
    if not isinstance(schema.get("type", ""), str | list):
        raise invalid(f"{where}.type", "must be the name of a type")
    if "items" in schema:
        _check(schema["items"], f"{where}.items", level + 1)
    inner = schema.get("properties", {})
    if not isinstance(inner, dict):
        raise invalid(f"{where}.properties", "must be an object of JSON schemas")
    for name, one in inner.items():
        _check(one, f"{where}.properties.{name}", level + 1)


def _type(words: str, where: str, level: int = 0) -> dict[str, Any]:
    if level > _DEEPEST:
        raise invalid(f"{where}.param_type", f"is more than {_DEEPEST} levels deep")
    outer, bracket, inner = words.partition("[")
    known = _TYPES.get(outer.lower())
    if known == "array" and bracket and inner.endswith("]"):
        return {"type": "array", "items": _type(inner[:-1].strip(), where, level + 1)}
    if known == "object" and bracket and inner.endswith("]"):
        return {"type": "object"}
    if known is None or bracket:
        raise Refused(
            400,
            f"Invalid value: {where}.param_type: '{words}' is none of {', '.join(_TYPES)}, nor a list of one such as "
            "list[int]",
        )
    return {"type": known}
