"""Messages of a chat, from Llama Stack's form to that of the OpenAI API."""

import json
from collections.abc import Sequence
from typing import Any

from arriero_runtime.native import content, wire
from arriero_runtime.native.errors import invalid

Message = dict[str, Any]


def translated(messages: Sequence[wire.ChatMessage], field: str) -> list[Message]:
    """All of them; system messages become one, in front. Raises Refused, naming `field`."""
    system: list[str] = []
    rest: list[Message] = []
    for number, message in enumerate(messages):
        where = f"{field}[{number}]"
        if isinstance(message, wire.SystemMessage):
            system.append(content.text(message.content, f"{where}.content", "\n"))
        elif isinstance(message, wire.UserMessage):
            rest.append({"role": "user", "content": _with_context(message, where)})
        elif isinstance(message, wire.ToolMessage):
            answer = content.parts(message.content, f"{where}.content")
            rest.append({"role": "tool", "tool_call_id": message.call_id, "content": answer})
        else:
            rest.append(_assistant(message, where))
    if not rest:
        raise invalid(field, "at least one message must not be a system message")
    return [{"role": "system", "content": "\n".join(system)}, *rest] if system else rest


def _with_context(message: wire.UserMessage, where: str) -> str | list[dict[str, Any]]:
    """The context follows the content after a blank line, or as parts of its own."""
    own = content.parts(message.content, f"{where}.content")
    if message.context is None:
        return own
    context = content.parts(message.context, f"{where}.context")
    if isinstance(own, str) and isinstance(context, str):
        return f"{own}\n\n{context}"
    return [*_listed(own), *_listed(context)]


def _listed(found: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": found}] if isinstance(found, str) else found


def _assistant(message: wire.AssistantMessage, where: str) -> Message:
    words = "" if message.content is None else content.text(message.content, f"{where}.content", "\n")
    if not message.tool_calls:
        return {"role": "assistant", "content": words}
    calls = [_call(call, f"{where}.tool_calls[{number}]") for number, call in enumerate(message.tool_calls)]
    return {"role": "assistant", "content": words or None, "tool_calls": calls}


def _call(call: wire.ToolCall, where: str) -> dict[str, Any]:
    arguments = arguments_of(call, where)
    return {"id": call.call_id, "type": "function", "function": {"name": call.tool_name, "arguments": arguments}}


def arguments_of(call: wire.ToolCall, where: str) -> str:
    """The text of a JSON object. `arguments` counts; `arguments_json` where it is absent. Raises Refused."""
    given = call.arguments_json if call.arguments is None else call.arguments
    if isinstance(given, dict):
        return json.dumps(given, ensure_ascii=False)
    try:
        found = json.loads(given or "{}")
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise invalid(f"{where}.arguments", "a text must be that of a JSON object")
    return given or "{}"
