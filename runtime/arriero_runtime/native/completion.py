"""Answers of a raw completion."""

from collections.abc import Mapping
from typing import Any

from arriero_runtime.native import numbers
from arriero_runtime.native.stops import stop_reason
from arriero_runtime.native.tally import Tally, is_plain


def whole(answer: Mapping[str, Any], message_ends: frozenset[int]) -> dict[str, Any]:
    """A CompletionResponse. Raises Refused for an answer that was broken off."""
    choice = answer["choices"][0]
    reason = stop_reason(
        choice.get("finish_reason"), choice.get("stop_reason"), called=False, message_ends=message_ends
    )
    return {
        "metrics": numbers.metrics(answer.get("usage")),
        "content": choice.get("text") or "",
        "stop_reason": reason,
        "logprobs": numbers.of_completion(choice.get("logprobs")) or None,
    }


class Stream:
    """From the chunks of the OpenAI API to CompletionResponseStreamChunks: new text each, then one that ends it."""

    def __init__(self, message_ends: frozenset[int]) -> None:
        self._tally = Tally(message_ends, numbers.of_completion)

    def feed(self, chunk: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The chunks for one."""
        return [
            {"metrics": None, "delta": text, "stop_reason": None, "logprobs": self._tally.take()}
            for choice in self._tally.choices(chunk)
            if (text := choice.get("text"))
        ]

    def is_text(self, chunk: Mapping[str, Any]) -> bool:
        """A chunk with a reason, a count or anything unknown is not, nor is any where there are log probabilities."""
        return not self._tally.has_logprobs and is_plain(chunk) and bool(chunk["choices"][0].get("text"))

    def end(self, *, complete: bool) -> list[dict[str, Any]]:
        """The last chunk. Raises Refused for a stream that was broken off."""
        self._tally.must_be_whole(complete=complete)
        reason = self._tally.reason(called=False)
        return [{"metrics": self._tally.metrics, "delta": "", "stop_reason": reason, "logprobs": self._tally.take()}]
