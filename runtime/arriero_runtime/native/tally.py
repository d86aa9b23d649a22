"""What a streamed answer says beside its text: log probabilities, why it ended, how many tokens there were."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from arriero_runtime.native import numbers
from arriero_runtime.native.errors import Refused
from arriero_runtime.native.stops import CUT_OFF, stop_reason

_MEANS_NOTHING: Final = frozenset({"id", "object", "created", "model", "choices", "system_fingerprint"})
"""What a chunk may hold beside its choices without saying anything about the answer."""
_PLAIN_CHOICE: Final = frozenset({"index", "delta", "text"})


def is_plain(chunk: Mapping[str, Any]) -> bool:
    """Whether a chunk has one choice and says nothing beside its text or delta."""
    choices = chunk.get("choices")
    return (
        isinstance(choices, list)
        and len(choices) == 1
        and all(key in _MEANS_NOTHING or value is None for key, value in chunk.items())
        and all(key in _PLAIN_CHOICE or value is None for key, value in choices[0].items())
    )


class Tally:
    """Kept for one answer. `read` turns a choice's log probabilities into Llama Stack's form; `has_logprobs` says that
    there have been any."""

    def __init__(
        self, message_ends: frozenset[int], read: Callable[[Mapping[str, Any] | None], numbers.LogProbs]
    ) -> None:
        self._message_ends = message_ends
        self._read = read
        self._logprobs: numbers.LogProbs = []
        self.has_logprobs = False
        self._finish: str | None = None
        self._stop: int | str | None = None
        self._usage: Mapping[str, Any] | None = None

    def choices(self, chunk: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Those of one chunk; what stands beside their text is noted."""
        if usage := chunk.get("usage"):
            self._usage = usage
        for choice in chunk.get("choices") or ():
            if logprobs := choice.get("logprobs"):
                self._logprobs += self._read(logprobs)
                self.has_logprobs = True
            if finish := choice.get("finish_reason"):
                self._finish, self._stop = finish, choice.get("stop_reason")
            yield choice

    def take(self) -> numbers.LogProbs | None:
        """The log probabilities that have not been told: those of text that is held back wait for it."""
        if not self._logprobs:
            return None
        taken, self._logprobs = self._logprobs, []
        return taken

    def must_be_whole(self, *, complete: bool) -> None:
        """Raises Refused for a stream that was broken off. `complete` tells that the engine has named its end."""
        if self._finish is None and not complete:
            raise Refused(500, "The engine's answer broke off.")

    def reason(self, *, called: bool) -> str:
        """The stop reason. Raises Refused for an answer that was broken off."""
        return stop_reason(self._finish, self._stop, called=called, message_ends=self._message_ends)

    @property
    def cut_off(self) -> bool:
        """Whether it ended for want of room."""
        return self._finish == CUT_OFF

    @property
    def metrics(self) -> list[dict[str, Any]] | None:
        """The engine's own count of tokens."""
        return numbers.metrics(self._usage)
