"""The words around a chat: system message, description of tools. They are ours, but for the few lines that Llama models
know from their training (`Environment`, `Tools`, the dates)."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from arriero_runtime.native.formats.forced import Function
from arriero_runtime.native.formats.written import BUILT_IN, CODE, as_json

PLACEHOLDERS: Final = ("{{function_description}}", "{{function_definitions}}")
"""What a system message that replaces ours may hold where the tools are to be described."""
_HOW: Final = {
    "json": 'To call one, answer with nothing but JSON of this form, one object per call: {"type": "function", "name": '
    '"NAME", "parameters": {"PARAMETER": VALUE}}',
    "function_tag": "To call one, answer with nothing but this, in one line per call: "
    '<function=NAME>{"PARAMETER": VALUE}</function>',
    "python_list": "To call some, answer with nothing but a list of calls as in Python: "
    "[name(parameter=value), other(parameter=value)]",
}


@dataclass(frozen=True, slots=True)
class Tools:
    """What is offered: `known` are built-in tools that need no description, `described` all others."""

    known: tuple[str, ...] = ()
    described: tuple[Function, ...] = ()
    form: str = "json"
    choice: str = "auto"


def environment(tools: Tools) -> list[str]:
    """The lines that tell of built-in tools."""
    named = ", ".join(name for name in tools.known if name != CODE)
    return ["Environment: ipython", *([f"Tools: {named}"] if named else [])]


def dates(today: datetime.date) -> list[str]:
    """The lines of Llama 3.1's system message."""
    return ["Cutting Knowledge Date: December 2023", f"Today Date: {today.strftime('%d %B %Y')}"]


def description(tools: Tools) -> str:
    """What the described tools are, how they are called, and whether one must be."""
    parts = ["You can call these functions where they help to answer:", definitions(tools), _HOW[tools.form]]
    return "\n".join([*parts, "Call no other functions. Answer in words where none is needed.", *must(tools)])


def definitions(tools: Tools) -> str:
    """One line of JSON per tool, or a list of all in the format python_list."""
    shown = [_shown(function) for function in tools.described]
    return as_json(shown) if tools.form == "python_list" else "\n".join(map(as_json, shown))


def must(tools: Tools) -> list[str]:
    """The line that a choice of tools makes."""
    if tools.choice == "required":
        return ["Here you must call at least one function."]
    return [f"Here you must call the function {as_json(tools.choice)}."] if tools.choice != "auto" else []


def replaced(text: str, tools: Tools) -> str:
    """A caller's own system message. Nothing in it is a template but the two placeholders."""
    for placeholder in PLACEHOLDERS:
        text = text.replace(placeholder, definitions(tools))
    return text


def schema_wanted(schema: Mapping[str, Any]) -> str:
    """A message that asks for JSON."""
    return f"Answer in JSON that keeps to this schema: {as_json(schema)}"


def split(functions: Sequence[Function], own: frozenset[str]) -> tuple[tuple[str, ...], tuple[Function, ...]]:
    """Names of built-in tools, and the other functions. `own` are names that the caller has described itself."""
    known = tuple(one["name"] for one in functions if one["name"] in (*BUILT_IN, CODE) and one["name"] not in own)
    return known, tuple(one for one in functions if one["name"] not in known)


def _shown(function: Function) -> dict[str, Any]:
    return {key: function[key] for key in ("name", "description", "parameters") if key in function}
