"""What is compared: three ways to the same engine, and the two kinds of work that each of them is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.support.real_runtime import NAME

BARE: Final = "bare vLLM"
OPENAI: Final = "OpenAI route"
NATIVE: Final = "native route"
_QUESTION: Final = [{"role": "user", "content": "Tell me about llamas."}]


@dataclass(frozen=True, slots=True)
class Side:
    """One way. Of `goals`, the key is the side that it is measured against."""

    name: str
    path: str
    goals: Mapping[str, float]

    def body(self, tokens: int, streamed: bool) -> Mapping[str, Any]:
        """The request, for an answer of so many tokens."""
        if self.path.startswith("/v1/inference"):
            return {
                "model_id": NAME,
                "messages": _QUESTION,
                "sampling_params": {"max_tokens": tokens},
                "stream": streamed,
            }
        plain = {"model": NAME, "messages": _QUESTION, "max_tokens": tokens, "temperature": 0}
        return plain | ({"stream": True, "stream_options": {"include_usage": True}} if streamed else {})


SIDES: Final = {
    side.name: side
    for side in (
        Side(BARE, "/v1/chat/completions", {}),
        Side(OPENAI, "/v1/chat/completions", {BARE: 0.98}),
        Side(NATIVE, "/v1/inference/chat-completion", {OPENAI: 0.95}),
    )
}


@dataclass(frozen=True, slots=True)
class Work:
    """`streams` at once until `requests` are answered, with so many tokens each; as a stream, or in one piece."""

    streams: int
    requests: int
    tokens: int
    streamed: bool = True

    @property
    def words(self) -> str:
        """For the table."""
        kind = f"streams of {self.tokens} tokens" if self.streamed else "whole answers of one token"
        return f"{self.streams} at once, {self.requests} {kind}"


def tiny_works(streams: list[int]) -> list[Work]:
    """For a model whose step costs next to nothing: rounds of about three seconds, answers of less."""
    answers = [Work(count, max(4 * count, 32), 1, streamed=False) for count in streams]
    return [*(Work(count, max(8 * count, 24) if count < 128 else count, 48) for count in streams), *answers]


def real_works(streams: list[int]) -> list[Work]:
    """For a model whose steps take most of the time."""
    return [Work(count, max(count, 2), 16) for count in streams]
