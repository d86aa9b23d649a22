"""What is compared: three ways to the same engine, and the two kinds of work that each of them is asked for."""

import random
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
    for side in (
        Side(BARE, False, {}),
        Side(OPENAI, False, {BARE: 0.98}),
        Side(NATIVE, True, {BARE: 0.95, OPENAI: 0.95}),
    )
}
"""Those that are compared stand next to each other."""


@dataclass(frozen=True, slots=True)
class Work:
    """`streams` at once until `requests` are answered, with `tokens` each in the mean and up to `spread` more or fewer;
    as a stream, or in one piece."""

    route: str
    streams: int
    requests: int
    tokens: int
    streamed: bool = True
    spread: int = 0

    def lengths(self) -> list[int]:
        """Of each answer, in tokens: the same in each round and on each side.

        Streams of one length that begin together end together, and whether they stay together decides how many steps
        the engine needs for the same work: chance, and more of it than what is measured.
        """
        if not self.spread:
            return [self.tokens] * self.requests
        evenly = [self.tokens - self.spread + number % (2 * self.spread + 1) for number in range(self.requests)]
        random.Random(0).shuffle(evenly)
        return evenly

    @property
    def words(self) -> str:
        """For the table."""
        length = f"{self.tokens} ± {self.spread}" if self.spread else str(self.tokens)
        kind = f"streams of {length} tokens" if self.streamed else "whole answers of one token"
        return f"{self.route}: {self.streams} at once, {self.requests} {kind}"


def tiny_works(route: str, streams: list[int]) -> list[Work]:
    """For a model whose step costs next to nothing: rounds of eight seconds, 256 streams twelve; answers less.

    How the first streams of a round fall together, and its last ones end, is chance: a short round is mostly that.
    """
    answers = [Work(route, count, max(4 * count, 32), 1, streamed=False) for count in streams]
    return [*(Work(route, count, _enough(count), 48, spread=32) for count in streams), *answers]


def _enough(streams: int) -> int:
    return max(16 * streams, 48) if streams < 128 else 4 * streams


def real_works(route: str, streams: list[int]) -> list[Work]:
    """For a model whose steps take most of the time."""
    return [Work(route, count, max(count, 2), 16) for count in streams]
