"""The OpenAI client on both addresses of the OpenAI API."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI, NotFoundError

from tests.runtime.native.played import Answer, Native, native


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
