"""A program of its own, with the package llama-models: chats on standard input, token ids on standard output.

Each chat is laid out twice: by the package and by the project. Prints one pair of lists per chat, as JSON.
"""

import datetime
import importlib
import json
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import llama_models
from llama_models import datatypes

from arriero_runtime.native import wire
from arriero_runtime.native.formats import laying
from arriero_runtime.native.formats.frames import frame_of
from arriero_runtime.native.formats.laying import Style
from arriero_runtime.native.formats.prompts import Tools

# FAKE: the package imports these for images alone, of which there are none here.
sys.modules.update(dict.fromkeys(("torch", "torchvision", "torchvision.transforms"), mock.MagicMock()))
sys.modules["torchvision.transforms.functional"] = mock.MagicMock()
format_3, format_4 = (importlib.import_module(f"llama_models.llama{number}.chat_format") for number in (3, 4))
tokenizer_3, tokenizer_4 = (importlib.import_module(f"llama_models.llama{number}.tokenizer") for number in (3, 4))

FOLDER = Path(llama_models.__file__).parent
DAY = datetime.date(2026, 11, 30)


class Theirs:
    """The package's tokenizer as `arriero_runtime.engine.protocol.Tokens`."""

    def __init__(self, tokenizer: Any) -> None:
        self._own = tokenizer

    def plain(self, text: str) -> list[int]:
        return list(self._own.encode(text, bos=False, eos=False))

    def special(self, spelling: str) -> int | None:
        found: int | None = self._own.special_tokens.get(spelling)
        return found


def raw(message: dict[str, Any]) -> Any:
    """One message in the package's form."""
    calls = [
        datatypes.ToolCall(call_id=one["call_id"], tool_name=one["tool_name"], arguments=one["arguments"])
        for one in message.get("tool_calls") or []
    ]
    reason = message.get("stop_reason")
    return datatypes.RawMessage(
        role=message["role"],
        content=message["content"],
        context=message.get("context"),
        stop_reason=datatypes.StopReason(reason) if reason else None,
        tool_calls=calls,
    )


def pair(chat: dict[str, Any], formats: dict[str, Any]) -> list[list[int]]:
    theirs, tokens = formats[chat["family"]]
    style = Style(chat["form"], dated=chat["family"] == "3", messages=chat["family"] == "4")
    body = {"model_id": "one", "messages": chat["messages"]}
    request = wire.parse(wire.ChatCompletion, json.dumps(body).encode())
    turns = laying.turns(request.messages, "messages", style, Tools(form=chat["form"]), DAY, replace=False)
    frame = frame_of(tokens)
    assert frame is not None
    rest = [raw(one) for one in chat["messages"] if one["role"] != "system"]
    messages = [datatypes.RawMessage(role="system", content=turns[0].texts[0]), *rest]
    reference = theirs.encode_dialog_prompt(messages, datatypes.ToolPromptFormat(chat["form"]))
    return [list(reference.tokens), frame.prompt(turns)]


def main() -> None:
    own_3 = tokenizer_3.Tokenizer(FOLDER / "llama3" / "tokenizer.model")
    own_4 = tokenizer_4.Tokenizer(FOLDER / "llama4" / "tokenizer.model")
    formats = {
        "3": (format_3.ChatFormat(own_3), Theirs(own_3)),
        "4": (format_4.ChatFormat(own_4), Theirs(own_4)),
    }
    print(json.dumps([pair(chat, formats) for chat in json.load(sys.stdin)]))


if __name__ == "__main__":
    main()
