"""The OpenAI client on both addresses of the OpenAI API."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI, NotFoundError

from tests.runtime.native.played import Answer, Native, chat, completion, native


@pytest.fixture
async def stack(tmp_path: Path) -> AsyncIterator[Native]:
    async with native(tmp_path) as found:
        yield found


@pytest.fixture(params=["/v1", "/v1/openai/v1"])
async def client(stack: Native, request: pytest.FixtureRequest) -> AsyncIterator[AsyncOpenAI]:
    base = f"http://127.0.0.1:{stack.server.options.port}{request.param}"
    async with AsyncOpenAI(base_url=base, api_key="none", max_retries=0) as found:
        yield found


def chunk(text: str, finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "one", "choices": [choice]}


async def test_it_lists_and_finds_models(client: AsyncOpenAI) -> None:
    assert [model.id async for model in client.models.list()] == ["one", "two"]
    assert (await client.models.retrieve("two")).id == "two"
    with pytest.raises(NotFoundError):
        await client.models.retrieve("three")


async def test_it_reads_a_stream_with_or_without_end_mark(client: AsyncOpenAI, stack: Native) -> None:
    stack.script.always(Answer(events=[chunk("Pa"), chunk("ris", "stop")]))
    stream = await client.chat.completions.create(
        model="one", messages=[{"role": "user", "content": "Hello"}], stream=True
    )
    assert "".join([one.choices[0].delta.content or "" async for one in stream]) == "Paris"


CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}}
FILE = {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,YQ=="}}
CHATS: dict[str, list[dict[str, Any]]] = {
    "earlier answers": [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "Sunny."},
        {"role": "assistant", "content": "It is sunny.", "refusal": None},
        {"role": "user", "content": "Thanks"},
    ],
    "names": [{"role": "user", "name": "ann", "content": "x"}, {"role": "user", "content": "x"}],
    "roles and parts": [
        {"role": "developer", "content": [{"type": "text", "text": "Be kind."}]},
        {"role": "user", "content": [{"type": "text", "text": "What is it?"}, IMAGE, FILE]},
    ],
}


@pytest.mark.parametrize("messages", CHATS.values(), ids=tuple(CHATS))
async def test_messages_of_all_kinds_reach_the_engine_as_they_are(
    client: AsyncOpenAI, stack: Native, messages: Any
) -> None:
    stack.script.always(Answer(chat()))
    await client.chat.completions.create(model="one", messages=messages)
    assert stack.script.last == {"model": "one", "messages": messages}


@pytest.mark.parametrize("prompt", ["x", ["x", "y"], [1, 2], [[1, 2], [3]]], ids=str)
async def test_prompts_of_all_four_forms_reach_the_engine_as_they_are(
    client: AsyncOpenAI, stack: Native, prompt: Any
) -> None:
    stack.script.always(Answer(completion()))
    await client.completions.create(model="one", prompt=prompt)
    assert stack.script.last == {"model": "one", "prompt": prompt}


async def test_several_answers_are_one_question_to_the_engine(client: AsyncOpenAI, stack: Native) -> None:
    two = [{**choice, "index": number} for number in range(2) for choice in chat()["choices"]]
    stack.script.always(Answer({**chat(), "choices": two}))
    answer = await client.chat.completions.create(model="one", messages=[{"role": "user", "content": "x"}], n=2)
    assert [choice.index for choice in answer.choices] == [0, 1]
    assert [one.body["n"] for one in stack.script.asked] == [2]
