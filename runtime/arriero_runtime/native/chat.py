"""Answers of a chat."""

from collections.abc import Mapping, Sequence
from typing import Any

from arriero_runtime.native import calls, numbers
from arriero_runtime.native.stops import CUT_OFF, stop_reason
from arriero_runtime.native.tally import Tally, is_plain


def whole(answer: Mapping[str, Any], offered: frozenset[str], message_ends: frozenset[int]) -> dict[str, Any]:
    """A ChatCompletionResponse. Raises Refused for an answer that was broken off. Reasoning has no place in it."""
    choice = answer["choices"][0]
    message = choice["message"]
    finish = choice.get("finish_reason")
    made, text = calls.sorted_out(message.get("tool_calls") or [], offered, cut_off=finish == CUT_OFF)
    reason = stop_reason(finish, choice.get("stop_reason"), called=bool(made), message_ends=message_ends)
    return {
        "metrics": numbers.metrics(answer.get("usage")),
        "completion_message": {
            "role": "assistant",
            "content": (message.get("content") or "") + text,
            "stop_reason": reason,
            "tool_calls": made,
        },
        "logprobs": numbers.of_chat(choice.get("logprobs")) or None,
    }


def joined(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A ChatCompletionResponse from all chunks of a stream."""
    found = [event["event"] for event in events]
    deltas = [event["delta"] for event in found]
    texts = [delta["text"] for delta in deltas if delta["type"] == "text"]
    settled = [(delta["parse_status"], delta["tool_call"]) for delta in deltas if delta["type"] == "tool_call"]
    texts += [text for status, text in settled if status == "failed"]
    return {
        "metrics": events[-1]["metrics"],
        "completion_message": {
            "role": "assistant",
            "content": "".join(texts),
            "stop_reason": found[-1]["stop_reason"],
            "tool_calls": [call for status, call in settled if status == "succeeded"],
        },
        "logprobs": [one for event in found for one in event["logprobs"] or ()] or None,
    }


class Events:
    """ChatCompletionResponseStreamChunks of one answer: one start, then progress, one complete.

    The texts of all deltas, those of failed calls included, are the content of the whole answer.
    """

    def __init__(self, tally: Tally, offered: frozenset[str]) -> None:
        self.tally = tally
        self._calls = calls.CallStream(offered)
        self._started = False

    def start(self) -> list[dict[str, Any]]:
        """The first chunk, once."""
        if self._started:
            return []
        self._started = True
        return [_event("start", _text(""))]

    def text(self, text: str) -> dict[str, Any]:
        """New text, with the log probabilities that have come up to it."""
        return _event("progress", _text(text), logprobs=self.tally.take())

    def calls(self, pieces: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Pieces of calls."""
        return [_event("progress", piece) for piece in self._calls.feed(pieces)]

    def end(self, *, in_call: bool = False) -> list[dict[str, Any]]:
        """The last chunks; `in_call` says that the last call has no end. Raises Refused for an answer broken off."""
        found = [*self.start(), *(_event("progress", delta) for delta in self._calls.end(cut_off=in_call))]
        reason = self.tally.reason(called=self._calls.made)
        last = _event("complete", _text(""), logprobs=self.tally.take(), stop_reason=reason)
        return [*found, {**last, "metrics": self.tally.metrics}]


class Stream:
    """From the chunks of the OpenAI API's chat completions to those of `Events`. Reasoning is left out."""

    def __init__(self, offered: frozenset[str], message_ends: frozenset[int]) -> None:
        self._tally = Tally(message_ends, numbers.of_chat)
        self._events = Events(self._tally, offered)
        self._in_call = False

    def feed(self, chunk: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The chunks for one."""
        found = self._events.start()
        for choice in self._tally.choices(chunk):
            delta = choice.get("delta") or {}
            if text := delta.get("content"):
                found.append(self._events.text(text))
                self._in_call = False
            if pieces := delta.get("tool_calls"):
                self._in_call = True
                found += self._events.calls(pieces)
        return found

    def is_text(self, chunk: Mapping[str, Any]) -> bool:
        """A chunk with a reason, a count or anything unknown is not, nor is any where there are log probabilities."""
        first: Mapping[str, Any] = (chunk.get("choices") or ({},))[0]
        has_text_alone = (first.get("delta") or {}).keys() == {"content"}
        return has_text_alone and not self._tally.has_logprobs and is_plain(chunk)

    def end(self, *, complete: bool) -> list[dict[str, Any]]:
        """The last chunks. Raises Refused for a stream that was broken off."""
        self._tally.must_be_whole(complete=complete)
        return self._events.end(in_call=self._in_call and self._tally.cut_off)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _event(
    kind: str, delta: dict[str, Any], logprobs: numbers.LogProbs | None = None, stop_reason: str | None = None
) -> dict[str, Any]:
    event = {"event_type": kind, "delta": delta, "logprobs": logprobs, "stop_reason": stop_reason}
    return {"metrics": None, "event": event}
