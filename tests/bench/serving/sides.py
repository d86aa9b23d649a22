"""What is compared: three ways to the same engine, and the two kinds of work that each of them is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.support.real_runtime import NAME

BARE: Final = "bare vLLM"
OPENAI: Final = "OpenAI route"
NATIVE: Final = "native route"
_QUESTION: Final = [{"role": "user", "content": "Tell me about llamas."}]
_BEGINNING: Final = "Llamas are"


CHAT: Final = "chat"
COMPLETION: Final = "completion"
_ROUTES: Final = {
    CHAT: ("/v1/chat/completions", "/v1/inference/chat-completion"),
    COMPLETION: ("/v1/completions", "/v1/inference/completion"),
}
"""What is asked for → the OpenAI route, the native one."""


@dataclass(frozen=True, slots=True)
class Side:
    """One way. Of `goals`, the key is the side that it is measured against."""

    name: str
    native: bool
    goals: Mapping[str, float]

    def path(self, route: str) -> str:
        """Where a chat or a raw completion is asked for."""
        return _ROUTES[route][self.native]

    def body(self, route: str, tokens: int, streamed: bool) -> Mapping[str, Any]:
        """The request, for an answer of so many tokens."""
        if self.native:
            asked = {"messages": _QUESTION} if route == CHAT else {"content": _BEGINNING}
            return {"model_id": NAME, **asked, "sampling_params": {"max_tokens": tokens}, "stream": streamed}
        asked = {"messages": _QUESTION} if route == CHAT else {"prompt": _BEGINNING}
        plain = {"model": NAME, **asked, "max_tokens": tokens, "temperature": 0}
        return plain | ({"stream": True, "stream_options": {"include_usage": True}} if streamed else {})


SIDES: Final = {
    side.name: side
    for side in (Side(BARE, False, {}), Side(OPENAI, False, {BARE: 0.98}), Side(NATIVE, True, {OPENAI: 0.95}))
}
"""Those that are compared stand next to each other."""


@dataclass(frozen=True, slots=True)
class Work:
    """`streams` at once until `requests` are answered, with so many tokens each; as a stream, or in one piece."""

    route: str
    streams: int
    requests: int
    tokens: int
    streamed: bool = True

    @property
    def words(self) -> str:
        """For the table."""
        kind = f"streams of {self.tokens} tokens" if self.streamed else "whole answers of one token"
        return f"{self.route}: {self.streams} at once, {self.requests} {kind}"


def tiny_works(route: str, streams: list[int]) -> list[Work]:
    """For a model whose step costs next to nothing: rounds of one to two seconds, 256 streams three; answers less."""
    answers = [Work(route, count, max(4 * count, 32), 1, streamed=False) for count in streams]
    return [*(Work(route, count, max(4 * count, 16) if count < 128 else count, 48) for count in streams), *answers]


def real_works(route: str, streams: list[int]) -> list[Work]:
    """For a model whose steps take most of the time."""
    return [Work(route, count, max(count, 2), 16) for count in streams]
