"""OpenAI's own client against the real engine."""

import json
from collections.abc import Iterator

import pytest
from openai import BadRequestError, NotFoundError, OpenAI
from pydantic import BaseModel

from tests.support.live import Live

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "strict": True,
    },
}


class City(BaseModel):
    name: str
    big: bool


@pytest.fixture
def openai(server: Live) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0, timeout=120) as client:
        yield client


def test_it_lists_the_names(openai: OpenAI) -> None:
    assert {"one", "chat"} <= {model.id for model in openai.models.list()}
    assert openai.models.retrieve("chat").id == "chat"
    with pytest.raises(NotFoundError):
        openai.models.retrieve("other")


@pytest.mark.parametrize("name", ["one", "chat"])
def test_it_chats(openai: OpenAI, name: str) -> None:
    answer = openai.chat.completions.create(
        model=name,
        messages=[{"role": "user", "content": "What is the capital of France?"}],
        max_tokens=20,
        temperature=0,
    )
    assert "Paris" in (answer.choices[0].message.content or "")
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_its_streams_say_the_same(openai: OpenAI) -> None:
    asked = [{"role": "user", "content": "What is the capital of France?"}]
    common = {"model": "one", "messages": asked, "max_tokens": 20, "temperature": 0}
    whole = openai.chat.completions.create(**common)  # type: ignore[call-overload]
    with openai.chat.completions.stream(**common) as stream:  # type: ignore[arg-type]
        final = stream.get_final_completion()
    assert final.choices[0].message.content == whole.choices[0].message.content
    assert final.choices[0].finish_reason == whole.choices[0].finish_reason


def test_it_completes(openai: OpenAI) -> None:
    whole = openai.completions.create(model="one", prompt="The capital of France is", max_tokens=5, temperature=0)
    parts = openai.completions.create(
        model="one", prompt="The capital of France is", max_tokens=5, temperature=0, stream=True
    )
    assert "".join(part.choices[0].text for part in parts) == whole.choices[0].text
    assert "Paris" in whole.choices[0].text


def test_it_parses_structured_output(openai: OpenAI) -> None:
    answer = openai.chat.completions.parse(
        model="one",
        messages=[{"role": "user", "content": "Paris, as JSON."}],
        response_format=City,
        max_tokens=60,
        temperature=0,
    )
    assert isinstance(answer.choices[0].message.parsed, City)


@pytest.mark.parametrize("stream", [False, True])
def test_it_calls_a_tool(openai: OpenAI, stream: bool) -> None:
    common = {
        "model": "one",
        "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
        "tools": [TOOL],
        "tool_choice": {"type": "function", "function": {"name": "weather"}},
        "max_tokens": 60,
        "temperature": 0,
    }
    if stream:
        with openai.chat.completions.stream(**common) as events:  # type: ignore[arg-type]
            calls = events.get_final_completion().choices[0].message.tool_calls
    else:
        calls = openai.chat.completions.create(**common).choices[0].message.tool_calls  # type: ignore[call-overload]
    assert calls is not None
    assert [call.function.name for call in calls] == ["weather"]
    assert set(json.loads(calls[0].function.arguments)) == {"city"}


def test_it_gets_responses(openai: OpenAI) -> None:
    answer = openai.responses.create(
        model="one", input="What is the capital of France?", max_output_tokens=20, temperature=0, store=False
    )
    assert "Paris" in answer.output_text


def test_its_errors_have_their_class_and_field(openai: OpenAI) -> None:
    with pytest.raises(NotFoundError) as unknown:
        openai.completions.create(model="other", prompt="x")
    assert unknown.value.param == "model"
    with pytest.raises(BadRequestError) as hot:
        openai.completions.create(model="one", prompt="x", temperature=-1)
    assert (hot.value.param, hot.value.type) == ("temperature", "invalid_request_error")
    with pytest.raises(BadRequestError) as unsupported:
        openai.completions.create(model="one", prompt="x", extra_body={"guided_json": {}})
    assert unsupported.value.param == "guided_json"
    with pytest.raises(NotFoundError):
        openai.embeddings.create(model="one", input="x")
