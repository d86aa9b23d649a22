"""Tool calls of an answer: checked against what was offered, whole or piece by piece.

A call that cannot be made, as its tool was not offered or its arguments are no JSON object, is text of the answer. So
is one in the middle of which the answer ran out of room: the parsers of the engine complete it, with half a value.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arriero_runtime.native.text import to_json

Event = dict[str, Any]


@dataclass
class Call:
    """A call as the engine's parser read it; grows in a stream."""

    call_id: str = ""
    name: str = ""
    arguments: str = ""

    def add(self, piece: Mapping[str, Any]) -> str:
        """Take a piece of it; gives the new text of its arguments."""
        function = piece.get("function") or {}
        self.call_id = self.call_id or piece.get("id") or ""
        self.name += function.get("name") or ""
        text: str = function.get("arguments") or ""
        self.arguments += text
        return text

    def settled(self, offered: frozenset[str]) -> dict[str, Any] | str:
        """As Llama Stack has it, or as text where it cannot be made."""
        text = self.arguments.strip() or "{}"
        arguments = _object(text)
        if self.name not in offered or arguments is None:
            return f"{self._beginning()}{text}}}"
        return {"call_id": self.call_id, "tool_name": self.name, "arguments": arguments, "arguments_json": text}

    def cut_off(self) -> str:
        """As text that has no end."""
        return f"{self._beginning()}{self.arguments}"

    def _beginning(self) -> str:
        return f'{{"name": {json.dumps(self.name, ensure_ascii=False)}, "arguments": '


def _object(text: str) -> dict[str, Any] | None:
    """None for what is no JSON object, or holds what could not be sent on: NaN, half of a surrogate pair."""
    try:
        found = json.loads(text)
        to_json(found).encode()
        json.dumps(found, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def sorted_out(
    found: Sequence[Mapping[str, Any]], offered: frozenset[str], *, cut_off: bool
) -> tuple[list[dict[str, Any]], str]:
    """The calls of a whole answer that can be made, and the text of the others. `cut_off`: the last one has no end."""
    made: list[dict[str, Any]] = []
    text = ""
    for number, one in enumerate(found, start=1):
        call = Call()
        call.add(one)
        settled = call.cut_off() if cut_off and number == len(found) else call.settled(offered)
        if isinstance(settled, str):
            text += settled
        else:
            made.append(settled)
    return made, text


class CallStream:
    """The calls of a streamed answer.

    The first is told as it comes; the others, which may be mixed with it, at the end: clients tell the pieces of
    different calls apart by their order alone.
    """

    def __init__(self, offered: frozenset[str]) -> None:
        self._offered = offered
        self._calls: dict[int, Call] = {}
        self._told: Call | None = None
        self.made = False

    def feed(self, pieces: Sequence[Mapping[str, Any]]) -> list[Event]:
        """The deltas for some pieces."""
        deltas: list[Event] = []
        for piece in pieces:
            call = self._calls.setdefault(piece.get("index") or 0, Call())
            text = call.add(piece)
            if self._told is None and len(self._calls) == 1 and call.name in self._offered:
                self._told, text = call, call.arguments
                deltas.append(_delta("", "started"))
            if call is self._told and text:
                deltas.append(_delta(text, "in_progress"))
        return deltas

    def end(self, *, cut_off: bool = False) -> list[Event]:
        """The deltas that end all calls, in order. `cut_off` says that the last one has no end."""
        deltas: list[Event] = []
        last = max(self._calls, default=0)
        for number, call in sorted(self._calls.items()):
            settled = call.cut_off() if cut_off and number == last else call.settled(self._offered)
            if isinstance(settled, str):
                deltas.append(_delta(settled, "failed"))
                continue
            self.made = True
            if call is not self._told:
                deltas.append(_delta("", "started"))
                if call.arguments:
                    deltas.append(_delta(call.arguments, "in_progress"))
            deltas.append(_delta(settled, "succeeded"))
        return deltas


def _delta(call: dict[str, Any] | str, status: str) -> Event:
    return {"type": "tool_call", "tool_call": call, "parse_status": status}
