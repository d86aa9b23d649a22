"""Tool calls as text, in each of the three formats."""

import json
from collections.abc import Mapping
from typing import Any, Final

FORMATS: Final = ("json", "function_tag", "python_list")
"""The tool prompt formats of Llama Stack."""
BUILT_IN: Final = ("brave_search", "wolfram_alpha", "photogen")
"""Tools that Llama models know without a description, but for code_interpreter, whose calls are code."""
CODE: Final = "code_interpreter"


def written(name: str, arguments: Mapping[str, Any], form: str) -> str:
    """One call, without what may stand around several of them."""
    if name == CODE and isinstance(arguments.get("code"), str):
        return str(arguments["code"])
    if name in BUILT_IN and set(arguments) == {"query"}:
        return f"{name}.call(query={literal(arguments['query'])})"
    if form == "json":
        return as_json({"type": "function", "name": name, "parameters": dict(arguments)})
    if form == "function_tag":
        return f"<function={name}>{as_json(dict(arguments))}</function>"
    return f"{name}({', '.join(f'{key}={literal(value)}' for key, value in arguments.items())})"


def as_json(value: object) -> str:
    """JSON as the models were trained on it: letters of all scripts as they are."""
    return json.dumps(value, ensure_ascii=False)


def literal(value: object) -> str:
    """A JSON value as Python would have it, texts in double quotes."""
    if isinstance(value, str):
        return as_json(value)
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{as_json(str(key))}: {literal(one)}' for key, one in value.items())}}}"
    return repr(value)
