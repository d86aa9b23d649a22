"""Answers to a chat that was laid out here: raw text in, messages, calls and events out."""

import json
import uuid
from collections.abc import Mapping
from typing import Any

from arriero_runtime.native import chat, numbers
from arriero_runtime.native.formats.held import Held
from arriero_runtime.native.formats.reading import read
from arriero_runtime.native.formats.written import BUILT_IN
from arriero_runtime.native.tally import Tally


class Stream:
    """From the chunks of the OpenAI API's raw completions to those of a chat.

    `tag` is the id of the token, and `marks` the spellings, that an answer with code or calls of built-in tools is
    marked with. What may be a call is held back until the answer ends.
    """

    def __init__(self, offered: frozenset[str], message_ends: frozenset[int], tag: int, marks: tuple[str, str]) -> None:
        self._offered = offered
        self._tag = tag
        self._marks = marks
        self._tally = Tally(message_ends, numbers.of_completion)
        self._events = chat.Events(self._tally, offered)
        self._held = Held(offered.intersection(BUILT_IN), calls=bool(offered))
        self._seen = False
        self._tagged = False

    def feed(self, chunk: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The chunks for one."""
        found = self._events.start()
        for choice in self._tally.choices(chunk):
            self._look(choice.get("token_ids") or ())
            if (text := choice.get("text")) and (passed := self._held.add(text)):
                found.append(self._events.text(passed))
        return found

    def is_text(self, chunk: Mapping[str, Any]) -> bool:
        """Never: each chunk has token ids of its own, and text may be held back."""
        return False

    def _look(self, ids: "list[int] | tuple[int, ...]") -> None:
        """At the first token of the answer."""
        if not self._seen and ids:
            self._seen = True
            self._tagged = ids[0] == self._tag
            if self._tagged:
                self._held.hold_all()

    def end(self, *, complete: bool) -> list[dict[str, Any]]:
        """The last chunks. Raises Refused for a stream that was broken off."""
        self._tally.must_be_whole(complete=complete)
        text = self._held.text
        if self._tagged:
            # Where the tokenizer does not count them among its special tokens they are part of the text.
            text = text.removeprefix(self._marks[0]).removesuffix(self._marks[1])
        # Half of a program must not be run.
        before, calls = read(text, self._offered, tagged=self._tagged and not self._tally.cut_off)
        found = [self._events.text(before)] if before else []
        return [*found, *self._events.calls(_pieces(calls)), *self._events.end()]


def whole(answer: Mapping[str, Any], stream: Stream) -> dict[str, Any]:
    """A ChatCompletionResponse, from a whole completion. Raises Refused for an answer that was broken off."""
    events = stream.feed(answer)
    return chat.joined([*events, *stream.end(complete=True)])


def _pieces(calls: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    return [
        {
            "index": number,
            "id": f"call_{uuid.uuid4().hex}",
            "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},
        }
        for number, (name, arguments) in enumerate(calls)
    ]
