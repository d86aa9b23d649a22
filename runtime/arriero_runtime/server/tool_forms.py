"""Every form in which a request offers tools, so that whoever looks at tools forgets none.

Beside the list `tools` itself: the functions of a namespace in it, which the engine takes for tools of their own
(Responses API), and those that a message adds in the middle of a conversation (`tool_addition` of Anthropic's API).
"""

from collections.abc import Iterator, Mapping
from typing import Any

Tool = dict[str, Any]


def offered(request: Mapping[str, Any]) -> Iterator[tuple[str, Tool]]:
    """The parameter and the tool, for each that the engine may call and hold to its schema. Namespaces are given too,
    before what is in them. Types are not looked at: what the engine will refuse may be among them."""
    for tool in _flat(request.get("tools")):
        yield "tools", tool
    for block in _blocks(request):
        change = block.get("tool")
        if isinstance(change, dict):
            for tool in _flat([change.get("definition")]):
                yield "messages", tool


def places(request: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Each `holder[key]` below which tools are described to the model: those of a developer's message are among them,
    which only the chat template reads."""
    for holder in (request, *objects(request.get("messages"))):
        if isinstance(holder.get("tools"), list):
            yield holder, "tools"
    for block in _blocks(request):
        if "tool" in block:
            yield block, "tool"


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Those of a list; none where it is no list."""
    yield from (one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def _blocks(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for message in objects(request.get("messages")):
        yield from objects(message.get("content"))


def _flat(tools: Any) -> Iterator[Tool]:
    """In their order, however deep namespaces stand in each other: the request's own depth must not matter here."""
    stack = list(objects(tools))[::-1]
    while stack:
        tool = stack.pop()
        yield tool
        stack += list(objects(tool.get("tools")))[::-1]
