"""What stands inside of a parameter and would be without effect: the engine reads the parameter and passes it over."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from arriero_runtime.engine.protocol import HOSTED_TOOLS
from arriero_runtime.server.routes import COUNT_TOKENS, MESSAGES, RESPONSES
from arriero_runtime.server.tool_forms import objects, offered

Fault = tuple[str, str]
"""The parameter, and what is wrong with it."""

_OFFERED: Final = ("function", "custom", "namespace")
_HOSTED: Final = ("web_search_preview", "code_interpreter", "container", "mcp")
"""Types of tools that an engine with servers of tools calls."""
_INCLUDED: Final = ("message.output_text.logprobs", "reasoning.encrypted_content")
"""Reasoning comes as text that nothing has to decipher: who sends that back has what the second one is for."""


def fault(path: str, request: Mapping[str, Any], honoured: frozenset[str] = frozenset()) -> Fault | None:
    """The first such thing in a request."""
    look = _LOOKS.get(path)
    return None if look is None else next(look(request, honoured), None)


def _responses(request: Mapping[str, Any], honoured: frozenset[str]) -> Iterator[Fault]:
    yield from _tools(request, (*_OFFERED, *(_HOSTED if HOSTED_TOOLS in honoured else ())))
    included = request.get("include")
    names = [name for name in included if isinstance(name, str)] if isinstance(included, list) else []
    yield from (
        ("include", f"asks for {_shown(name)}, which no answer of this server has")
        for name in names
        if name not in _INCLUDED
    )
    if request.get("top_logprobs") and _INCLUDED[0] not in names:
        yield "top_logprobs", f'has an effect only with "include": ["{_INCLUDED[0]}"]'
    nothing = {"summary": ("auto",), "generate_summary": ("auto",), "context": ("auto",), "mode": ("standard",)}
    yield from _unknown("reasoning", request.get("reasoning"), ("effort",), nothing)
    yield from _unknown("text", request.get("text"), ("format",), {"verbosity": ("medium",)})
    for item in objects(request.get("input")):
        content = item.get("content")
        if item.get("role") == "assistant" and isinstance(content, list) and len(content) != 1:
            yield "input", f"holds a message of the assistant with {len(content)} contents; give one text"


_UNFORMED: Final = (
    "holds a custom tool with a 'format' other than text, which is not supported; leave 'format' out, and say in the "
    "tool's 'description' what the text must look like"
)


def _tools(request: Mapping[str, Any], known: tuple[str, ...]) -> Iterator[Fault]:
    for tool in objects(request.get("tools")):
        kind = tool.get("type")
        if isinstance(kind, str) and kind not in known:
            yield "tools", _not_run(kind)
        form = tool.get("format")
        if kind == "custom" and isinstance(form, dict) and form.get("type") not in (None, "text"):
            yield "tools", _UNFORMED
        inner = [one.get("type") for one in objects(tool.get("tools"))] if kind == "namespace" else []
        if others := [str(one) for one in inner if one != "function"]:
            yield "tools", f"holds one of type {_shown(others[0])} in a namespace, where only functions are supported"
    choice = request.get("tool_choice")
    kind = choice.get("type") if isinstance(choice, dict) else None
    if isinstance(kind, str) and kind not in ("function", "custom"):
        instead = 'offer these alone in "tools"' if kind == "allowed_tools" else 'name a tool, "auto" or "required"'
        yield "tool_choice", f"of type {_shown(kind)} is not supported and would have no effect; {instead}"


def _not_run(kind: str) -> str:
    return (
        f"holds one of type {_shown(kind)}, which this server does not run; offer a tool of your own in its place, "
        "and answer its calls"
    )


def _messages(request: Mapping[str, Any], _: frozenset[str]) -> Iterator[Fault]:
    for where, tool in offered(request):
        kind = tool.get("type")
        if isinstance(kind, str) and kind != "custom":
            yield where, _not_run(kind)
        yield from _unknown(where, tool, _TOOL, {"input_examples": ([],), "allowed_callers": ([], ["direct"])})
    output = request.get("output_config")
    yield from _unknown("output_config", output, ("effort", "format"), {})
    thinking = request.get("thinking")
    known = ("type", "budget_tokens") if isinstance(thinking, dict) and thinking.get("type") == "enabled" else ("type",)
    yield from _unknown("thinking", thinking, known, {"display": ("summarized", "omitted"), "block_binding": ({},)})
    yield from _blocks("system", request.get("system"), ("text",))
    for message in objects(request.get("messages")):
        if message.get("role") == "system":
            yield from _blocks("messages", message.get("content"), ("text", "tool_addition", "tool_removal"))
        for block in objects(message.get("content")):
            yield from _images(block)
            if block.get("type") == "tool_result":
                yield from _blocks(
                    "messages", block.get("content"), ("text", "image", "tool_reference"), "a tool's result"
                )
                for inner in objects(block.get("content")):
                    yield from _images(inner)


_TOOL: Final = (
    *("name", "description", "input_schema", "strict", "defer_loading", "type"),
    *("cache_control", "eager_input_streaming"),
)
"""The last two ask for no other answer."""


def _unknown(where: str, value: Any, known: tuple[str, ...], nothing: Mapping[str, tuple[Any, ...]]) -> Iterator[Fault]:
    """Members that are not `known`, but for null and the values in `nothing`, which ask for nothing."""
    for name, told in value.items() if isinstance(value, dict) else ():
        if name in known or told is None or without_nulls(told) in nothing.get(name, ()):
            continue
        with_it = " with this value" if nothing.get(name) else ""
        yield where, f"holds {_shown(name)}, which is not supported{with_it} and would have no effect"


def without_nulls(value: Any) -> Any:
    """An object without its members that are null: these ask for what is done anyway."""
    return {name: told for name, told in value.items() if told is not None} if isinstance(value, dict) else value


def _blocks(where: str, content: Any, known: tuple[str, ...], within: str = "system") -> Iterator[Fault]:
    for block in objects(content):
        kind = block.get("type")
        if isinstance(kind, str) and kind not in known:
            yield where, f"holds a block of type {_shown(kind)} in {within}, which would have no effect"


def _images(block: Mapping[str, Any]) -> Iterator[Fault]:
    source = block.get("source")
    if isinstance(source, dict) and source.get("type") not in (None, "base64", "url"):
        yield "messages", f"holds a source of type {_shown(str(source['type']))}; give it as 'base64' or 'url'"


def _shown(name: str) -> str:
    return f"'{name[:100].encode(errors='replace').decode()}'"


_LOOKS: Final[Mapping[str, Callable[[Mapping[str, Any], frozenset[str]], Iterator[Fault]]]] = {
    RESPONSES: _responses,
    MESSAGES: _messages,
    COUNT_TOKENS: _messages,
}
