"""Answers of a raw completion."""

from collections.abc import Mapping
from typing import Any

from arriero_runtime.native import numbers
from arriero_runtime.native.errors import Refused
from arriero_runtime.native.stops import stop_reason


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
        self._message_ends = message_ends
        self._logprobs: numbers.LogProbs = []
        self._finish: str | None = None
        self._stop: int | str | None = None
        self._usage: Mapping[str, Any] | None = None

    def feed(self, chunk: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The chunks for one. Log probabilities of text that is still held back wait for it."""
        self._usage = chunk.get("usage") or self._usage
        found: list[dict[str, Any]] = []
        for choice in chunk.get("choices") or []:
            if logprobs := choice.get("logprobs"):
                self._logprobs += numbers.of_completion(logprobs)
            if text := choice.get("text"):
                found.append({"metrics": None, "delta": text, "stop_reason": None, "logprobs": self._take()})
            if choice.get("finish_reason"):
                self._finish, self._stop = choice["finish_reason"], choice.get("stop_reason")
        return found

    def end(self, *, complete: bool) -> list[dict[str, Any]]:
        """The last chunk. Raises Refused for a stream that was broken off."""
        if self._finish is None and not complete:
            raise Refused(500, "The engine's answer broke off.")
        reason = stop_reason(self._finish, self._stop, called=False, message_ends=self._message_ends)
        usage = numbers.metrics(self._usage)
        return [{"metrics": usage, "delta": "", "stop_reason": reason, "logprobs": self._take()}]

    def _take(self) -> numbers.LogProbs | None:
        taken, self._logprobs = self._logprobs, []
        return taken or None
