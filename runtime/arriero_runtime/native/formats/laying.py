"""From the messages of a chat to token ids, as Llama Stack lays them out."""

import datetime
import json
from collections.abc import Sequence
from dataclasses import dataclass

from arriero_runtime.native import content, wire
from arriero_runtime.native.errors import Refused, invalid
from arriero_runtime.native.formats import prompts
from arriero_runtime.native.formats.frames import Turn
from arriero_runtime.native.formats.prompts import Tools
from arriero_runtime.native.formats.reading import read
from arriero_runtime.native.formats.written import CODE, written
from arriero_runtime.native.messages import arguments_of


@dataclass(frozen=True, slots=True)
class Style:
    """How a family has it: `form` is its format of calls; `dated` families have the dates in every system message and
    tools described by a user message of their own; `messages` as in `frames.Layout`."""

    form: str
    dated: bool
    messages: bool


def turns(
    messages: Sequence[wire.ChatMessage], field: str, style: Style, tools: Tools, today: datetime.date, *, replace: bool
) -> list[Turn]:
    """All of the chat. Raises Refused, naming `field`."""
    system: list[str] = []
    rest: list[Turn] = []
    for number, message in enumerate(messages):
        where = f"{field}[{number}]"
        if isinstance(message, wire.SystemMessage):
            system.append(_text(message.content, f"{where}.content"))
        elif isinstance(message, wire.UserMessage):
            rest.append(Turn("user", _user(message, where)))
        elif isinstance(message, wire.ToolMessage):
            answer = _text(message.content, f"{where}.content")
            rest.append(Turn("ipython", (answer,), ends_message=style.messages))
        else:
            rest.append(_assistant(message, where, style, tools.form))
    if not rest:
        raise invalid(field, "at least one message must not be a system message")
    return [*_head("\n".join(system), style, tools, today, replace=replace and bool(system)), *rest]


def _head(system: str, style: Style, tools: Tools, today: datetime.date, *, replace: bool) -> list[Turn]:
    if replace:
        return [Turn("system", (prompts.replaced(system, tools),))]
    lines = prompts.environment(tools) if tools.known or (tools.described and style.dated) else []
    if style.dated:
        lines += prompts.dates(today)
    described = [prompts.description(tools)] if tools.described else prompts.must(tools)
    if not style.dated:
        lines += described
    lines += [system] if system else []
    found = [Turn("system", ("\n".join(lines),))]
    return [*found, Turn("user", ("\n".join(described),))] if described and style.dated else found


def _user(message: wire.UserMessage, where: str) -> tuple[str, ...]:
    own = _text(message.content, f"{where}.content")
    if message.context is None:
        return (own,)
    return (own, "\n\n", _text(message.context, f"{where}.context"))


def _assistant(message: wire.AssistantMessage, where: str, style: Style, form: str) -> Turn:
    words = "" if message.content is None else _text(message.content, f"{where}.content")
    calls = message.tool_calls or []
    names = frozenset(call.tool_name for call in calls)
    if read(words, names, tagged=False)[1]:
        words = ""  # some clients send the raw text of a call beside the call
    told = [
        written(call.tool_name, json.loads(arguments_of(call, f"{where}.tool_calls[{number}]")), form)
        for number, call in enumerate(calls)
    ]
    code = bool(calls) and calls[0].tool_name == CODE
    bare = code or any(one.startswith(f"{call.tool_name}.call(") for one, call in zip(told, calls, strict=True))
    if told and form == "python_list" and not bare:
        told = [f"[{', '.join(told)}]"]
    ends = message.stop_reason == "end_of_message" or (style.messages and bool(calls))
    between = "\n".join(told)
    return Turn("assistant", tuple(text for text in (words, between) if text), code=code, ends_message=ends)


def _text(found: wire.Content, field: str) -> str:
    """Raises Refused for an image."""
    try:
        return content.text(found, field, "\n")
    except Refused:
        words = "images need the model's own chat template (chatFormat: Template), not Llama Stack's prompts"
        raise invalid(field, words) from None
