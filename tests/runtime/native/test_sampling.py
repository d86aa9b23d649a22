"""How an answer is sampled: the same on every route, and by the model's own prompts as by Llama Stack's."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.native.formats.spelled import Letters
from tests.runtime.native.played import Answer, Native, chat, completion, native

USER = {"role": "user", "content": "x"}
CHOSEN = frozenset({"temperature", "top_p", "top_k", "min_p", "repetition_penalty", "max_tokens", "stop"})
"""Members of a request to the engine that say how to sample."""


@dataclass(frozen=True)
class Way:
    """A question on one route, and where the engine is asked it."""

    route: str
    body: dict[str, Any]
    path: str
    extra: tuple[str, ...] = ()


CHAT = ("chat-completion", {"messages": [USER]})
CHATS = ("batch-chat-completion", {"messages_batch": [[USER]]})
LLAMA = ("--chat-format=LlamaStack",)
WAYS = {
    "completion": Way("completion", {"content": "x"}, "/v1/completions"),
    "batch of completions": Way("batch-completion", {"content_batch": ["x"]}, "/v1/completions"),
    "chat": Way(*CHAT, "/v1/chat/completions"),
    "batch of chats": Way(*CHATS, "/v1/chat/completions"),
    "chat by Llama Stack's prompts": Way(*CHAT, "/v1/completions", LLAMA),
    "batch of chats by Llama Stack's prompts": Way(*CHATS, "/v1/completions", LLAMA),
}


@pytest.fixture(params=WAYS.values(), ids=tuple(WAYS))
async def asked(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator["Asked"]:
    way: Way = request.param
    vocabulary = Letters() if way.extra else None
    async with native(tmp_path, extra=way.extra, vocabulary=vocabulary) as stack:
        stack.script.always(Answer(completion() if way.path == "/v1/completions" else chat()))
        yield Asked(stack, way)


@dataclass(frozen=True)
class Asked:
    """What the engine was told of how to sample."""

    stack: Native
    way: Way

    async def by(self, params: dict[str, Any] | None) -> dict[str, Any]:
        more = {} if params is None else {"sampling_params": params}
        status, body = await self.stack.post(self.way.route, {**self.way.body, **more})
        assert status == 200, body
        assert self.stack.script.asked[-1].path == self.way.path
        return {name: value for name, value in self.stack.script.last.items() if name in CHOSEN}

    async def streamed(self, params: dict[str, Any]) -> dict[str, Any]:
        await self.stack.stream(self.way.route, {**self.way.body, "sampling_params": params})
        return {name: value for name, value in self.stack.script.last.items() if name in CHOSEN}


GREEDY: dict[str, Any] = {
    "temperature": 0.0,
    "top_p": 1.0,
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "max_tokens": None,
}
"""Every value is there, so that none comes from the model's own generation settings."""
STRATEGIES: list[tuple[dict[str, Any], dict[str, float]]] = [
    ({"type": "greedy"}, {}),
    ({"type": "top_p", "temperature": 0.7, "top_p": 0.9}, {"temperature": 0.7, "top_p": 0.9}),
    ({"type": "top_p", "temperature": None}, {"temperature": 1.0, "top_p": 0.95}),
    ({"type": "top_k", "top_k": 40}, {"temperature": 1.0, "top_k": 40}),
]


async def test_without_sampling_params_the_likeliest_is_taken_as_long_as_the_context_has_room(asked: Asked) -> None:
    assert await asked.by(None) == GREEDY
    assert await asked.by({"max_tokens": 0, "repetition_penalty": None, "stop": None}) == GREEDY


async def test_each_strategy_sets_all_that_decides_on_a_token(asked: Asked) -> None:
    for strategy, values in STRATEGIES:
        assert await asked.by({"strategy": strategy}) == {**GREEDY, **values}


async def test_limits_penalty_and_stops_reach_the_engine(asked: Asked) -> None:
    params = {"max_tokens": 7, "repetition_penalty": 1.2, "stop": ["1963", "\n"]}
    assert await asked.by(params) == {**GREEDY, **params}


async def test_a_stream_is_sampled_like_a_whole_answer(asked: Asked) -> None:
    params = {"strategy": {"type": "top_k", "top_k": 3}, "max_tokens": 7, "stop": ["x"]}
    if not asked.way.route.startswith("batch"):
        assert await asked.streamed(params) == await asked.by(params)
