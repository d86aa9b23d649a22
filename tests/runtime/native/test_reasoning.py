"""Models whose answers a parser splits into reasoning and content. vLLM's parsers do not always split a whole answer
and a stream alike, above all where no end of the reasoning came."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.native.played import COUNT, METRICS, Answer, Native, chat, native, piece

QUESTION = {"messages": [{"role": "user", "content": "Hello"}]}


@pytest.fixture
async def stack(tmp_path: Path) -> AsyncIterator[Native]:
    """An engine that tells content where it is asked for a whole answer, and reasoning where it streams."""

    def play(body: dict[str, Any]) -> Answer:
        if not body.get("stream"):
            return Answer(chat("Hello there"))
        return Answer(
            events=[piece(role="assistant", content=""), piece(reasoning="Hello there"), piece("stop"), COUNT]
        )

    async with native(tmp_path) as found:
        found.script.play = play
        yield found


def with_parser(stack: Native, name: str) -> None:
    stack.server.serving.life.effective({"maxModelLen": 1024, "reasoningParser": name})


async def streamed(stack: Native) -> str:
    events = await stack.stream("chat-completion", QUESTION)
    return "".join(one["event"]["delta"]["text"] for one in events)


async def test_a_whole_answer_is_what_the_stream_says_where_a_parser_reads_both_differently(stack: Native) -> None:
    with_parser(stack, "olmo3")
    status, body = await stack.post("chat-completion", QUESTION)
    assert (status, body["metrics"], body["completion_message"]["stop_reason"]) == (200, METRICS, "end_of_turn")
    assert body["completion_message"]["content"] == await streamed(stack) == ""
    _, batch = await stack.post("batch-chat-completion", {"messages_batch": [QUESTION["messages"]] * 2})
    assert [one["completion_message"]["content"] for one in batch["batch"]] == ["", ""]


@pytest.mark.parametrize("name", ["none", ""])
async def test_without_a_parser_a_whole_answer_is_asked_for_whole_which_costs_less(stack: Native, name: str) -> None:
    stack.server.serving.life.effective({"reasoningParser": name} if name else {})
    _, body = await stack.post("chat-completion", QUESTION)
    assert body["completion_message"]["content"] == "Hello there"
    assert "stream" not in stack.script.last
