"""Answers of a chat."""

from collections.abc import Mapping, Sequence
from typing import Any

from arriero_runtime.native import calls, numbers
from arriero_runtime.native.errors import Refused
from arriero_runtime.native.stops import stop_reason


def whole(answer: Mapping[str, Any], offered: frozenset[str], message_ends: frozenset[int]) -> dict[str, Any]:
    """A ChatCompletionResponse. Raises Refused for an answer that was broken off. Reasoning has no place in it."""
    choice = answer["choices"][0]
    message = choice["message"]
    made, text = calls.sorted_out(message.get("tool_calls") or [], offered)
    reason = stop_reason(
        choice.get("finish_reason"), choice.get("stop_reason"), called=bool(made), message_ends=message_ends
    )
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
    """A ChatCompletionResponse from all chunks of a `Stream`."""
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


class Stream:
    """From the chunks of the OpenAI API to ChatCompletionResponseStreamChunks: one start, then progress, one complete.

    The texts of all deltas, those of failed calls included, are the content of the whole answer.
    """

    def __init__(self, offered: frozenset[str], message_ends: frozenset[int]) -> None:
        self._message_ends = message_ends
        self._calls = calls.CallStream(offered)
        self._started = False
        self._logprobs: numbers.LogProbs = []
        self._finish: str | None = None
        self._stop: int | str | None = None
        self._usage: Mapping[str, Any] | None = None

    def feed(self, chunk: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The chunks for one. Log probabilities of text that is still held back wait for it."""
        self._usage = chunk.get("usage") or self._usage
        found = self._start()
        for choice in chunk.get("choices") or []:
            delta = choice.get("delta") or {}
            if logprobs := choice.get("logprobs"):
                self._logprobs += numbers.of_chat(logprobs)
            if text := delta.get("content"):
                found.append(_event("progress", _text(text), logprobs=self._take()))
            if pieces := delta.get("tool_calls"):
                found += [_event("progress", piece) for piece in self._calls.feed(pieces)]
            if choice.get("finish_reason"):
                self._finish, self._stop = choice["finish_reason"], choice.get("stop_reason")
        return found

    def end(self, *, complete: bool) -> list[dict[str, Any]]:
        """The last chunks. Raises Refused for a stream that was broken off."""
        if self._finish is None and not complete:
            raise Refused(500, "The engine's answer broke off.")
        found = self._start()
        found += [_event("progress", delta) for delta in self._calls.end()]
        reason = stop_reason(self._finish, self._stop, called=self._calls.made, message_ends=self._message_ends)
        last = _event("complete", _text(""), logprobs=self._take(), stop_reason=reason)
        return [*found, {**last, "metrics": numbers.metrics(self._usage)}]

    def _start(self) -> list[dict[str, Any]]:
        if self._started:
            return []
        self._started = True
        return [_event("start", _text(""))]

    def _take(self) -> numbers.LogProbs | None:
        taken, self._logprobs = self._logprobs, []
        return taken or None


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _event(
    kind: str, delta: dict[str, Any], logprobs: numbers.LogProbs | None = None, stop_reason: str | None = None
) -> dict[str, Any]:
    event = {"event_type": kind, "delta": delta, "logprobs": logprobs, "stop_reason": stop_reason}
    return {"metrics": None, "event": event}
