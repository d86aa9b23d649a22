"""Which of a request's members binds its answer to a form: where the engine gives such a request up, it is on its
account."""

import json
import re
from typing import Any, Final

from arriero_runtime.server import tool_forms

_MEMBER: Final = re.compile(rb'"(?:response_format|structured_outputs|tools?|format)"')
_FREE: Final = (None, "text")
"""Types of a format that bind nothing."""


def binding(body: bytes) -> str:
    """The member's name; empty for an answer that is free, and for a body that is no object."""
    if not _MEMBER.search(body):
        return ""
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    return _binding(request) if isinstance(request, dict) else ""


def _binding(request: dict[str, Any]) -> str:
    if _is_bound(request.get("response_format")):
        return "response_format"
    outputs = request.get("structured_outputs")
    if isinstance(outputs, dict) and any(value is not None for value in outputs.values()):
        return "structured_outputs"
    text = request.get("text")
    if isinstance(text, dict) and _is_bound(text.get("format")):
        return "text"
    output = request.get("output_config")
    if isinstance(output, dict) and _is_bound(output.get("format")):
        return "output_config"
    return _bound_tools(request)


def _is_bound(form: Any) -> bool:
    return isinstance(form, dict) and form.get("type") not in _FREE


def _bound_tools(request: dict[str, Any]) -> str:
    """The first member whose tools bind: a call is forced, or one that comes by itself is to keep to its tool's
    schema."""
    choice = request.get("tool_choice")
    kind = choice.get("type") if isinstance(choice, dict) else choice
    if kind == "none":
        return ""
    # Anthropic's API has objects for all choices, also for the free one.
    forced = kind == "required" or (isinstance(choice, dict) and kind != "auto")
    return next((where for where, tool in tool_forms.offered(request) if forced or _is_strict(tool)), "")


def _is_strict(tool: dict[str, Any]) -> bool:
    """In chats `strict` stands inside of the function."""
    function = tool.get("function")
    return tool.get("strict") is True or (isinstance(function, dict) and function.get("strict") is True)
