"""Llama Stack's prompts for the model that is served: which family it is of, and what is asked of the engine."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from arriero_api import llama_names
from arriero_runtime.engine.protocol import Tokens
from arriero_runtime.native import tools, wire
from arriero_runtime.native.errors import invalid
from arriero_runtime.native.formats import answer, forced, laying, prompts
from arriero_runtime.native.formats.frames import LLAMA_4, Frame, Turn, frame_of
from arriero_runtime.native.sampling import form as response_form
from arriero_runtime.server import grammars

NAME: Final = "LlamaStack"
"""`chatFormat` of the resource, `--chat-format` of the runtime."""
TEMPLATE: Final = "Template"
"""The other one: the model's own chat template."""
_LISTS: Final = ("Llama3.2-1B", "Llama3.2-3B", "Llama3.3-")
"""Names of models of Llama 3 that were trained to call tools by a list of Python's."""


class Unfit(ValueError):
    """These prompts do not fit the model; the text says why."""


class LlamaChat:
    """The prompts of one model. `repository` is its own, empty for a model from elsewhere."""

    def __init__(self, tokens: Tokens | None, repository: str, today: Callable[[], datetime.date]) -> None:
        """Raises Unfit."""
        self._frame = _frame(tokens, repository)
        self._style = _style(self._frame, repository)
        self._today = today

    def payload(
        self, request: wire.ChatOptions, offer: tools.Offer, item: Sequence[wire.ChatMessage], field: str
    ) -> dict[str, Any]:
        """What a request for a completion has of the chat: prompt, stops, constraint. Raises Refused."""
        known, others = prompts.split(offer.functions, offer.own)
        shape = offer.shape or self._style.form
        kit = prompts.Tools(known, others, shape, offer.choice)
        replace = (request.tool_config or wire.ToolConfig()).system_message_behavior == "replace"
        turns = laying.turns(item, field, self._style, kit, self._today(), replace=replace)
        if isinstance(request.response_format, wire.JsonSchema):
            turns.append(Turn("user", (prompts.schema_wanted(request.response_format.json_schema),)))
        constraint = response_form(request.response_format)
        if offer.choice != "auto":
            if constraint:
                raise invalid("response_format", "is not possible where a tool must be called")
            chosen = [one for one in offer.functions if offer.choice in ("required", one["name"])]
            _must_be_short(chosen)
            constraint = {"structured_outputs": forced.constraint(chosen, shape)}
        return {
            "prompt": self._frame.prompt(turns),
            "add_special_tokens": False,
            "return_token_ids": True,
            "stop_token_ids": self._frame.stops,
            **constraint,
        }

    def stream(self, offered: frozenset[str], message_ends: frozenset[int]) -> answer.Stream:
        """The translator of one answer."""
        layout = self._frame.layout
        return answer.Stream(offered, message_ends, self._frame.tag, (layout.tag, layout.tag_end))


def _must_be_short(functions: Sequence[Mapping[str, Any]]) -> None:
    """Before a grammar is made of them, which may be longer by far. Raises Refused."""
    schemas = [function["parameters"] for function in functions]
    if fault := grammars.fault({"structured_outputs": {"json": {"anyOf": schemas}}}):
        raise invalid("tools", fault[1])


def _frame(tokens: Tokens | None, repository: str) -> Frame:
    frame = frame_of(tokens) if tokens is not None else None
    if frame is None:
        raise Unfit("the model's tokens are not those of Llama 3.1 or later")
    name = next(iter(llama_names.names_of(repository)), "")
    if "Guard" in name:
        raise Unfit(f"{name} has a prompt of its own")
    if name and "Instruct" not in name:
        raise Unfit(f"{name} is not made for chats; its Instruct model is")
    return frame


def _style(frame: Frame, repository: str) -> laying.Style:
    if frame.layout is LLAMA_4:
        return laying.Style("python_list", dated=False, messages=True)
    names = llama_names.names_of(repository)
    if any(name.startswith(_LISTS) for name in names):
        return laying.Style("python_list", dated=False, messages=False)
    return laying.Style("json", dated=True, messages=False)
