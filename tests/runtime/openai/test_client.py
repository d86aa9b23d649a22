"""OpenAI's own client against the real engine."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
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


def test_the_document_tells_of_every_route_that_this_engine_answers(server: Live) -> None:
    with server.client() as client:
        told = client.get("/openapi.json").json()["paths"]
        routes = client.get("/v1/inspect/routes").json()["data"]
    served = {(one["method"], one["route"]) for one in routes} - {("GET", "/openapi.json")}
    assert {(method.upper(), path) for path, methods in told.items() for method in methods} == served
    assert len(served) >= 30


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


def test_it_sends_answers_back_as_they_came_with_other_roles(openai: OpenAI) -> None:
    messages: list[Any] = [
        {"role": "developer", "content": [{"type": "text", "text": "Answer briefly."}]},
        {"role": "user", "name": "ann", "content": "What is the weather in Paris?"},
    ]
    forced = {"type": "function", "function": {"name": "weather"}}
    for choice in (forced, "none", "none"):
        more: dict[str, Any] = {"tools": [TOOL], "tool_choice": choice}
        answer = openai.chat.completions.create(
            model="one", messages=messages, max_tokens=60, temperature=0, **more
        ).choices[0]
        assert "name" not in answer.message.model_dump(exclude_unset=True), "OpenAI's answers have none"
        messages.append(answer.message)
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": "Sunny."} for call in answer.message.tool_calls or ()
        ]
        messages.append({"role": "user", "content": "Thanks. Which city was it?"})
    roles = [one["role"] if isinstance(one, dict) else one.role for one in messages]
    assert roles[2:5] == ["assistant", "tool", "user"]
    assert messages[-2].content


@pytest.mark.parametrize("stream", [False, True])
def test_it_gets_several_answers_at_once(openai: OpenAI, stream: bool) -> None:
    asked: dict[str, Any] = {"model": "one", "prompt": "Once upon", "n": 3, "max_tokens": 5, "seed": 1}
    if stream:
        parts = [part.choices[0] for part in openai.completions.create(**asked, stream=True) if part.choices]
        texts = {number: "".join(part.text for part in parts if part.index == number) for number in range(3)}
    else:
        texts = {choice.index: choice.text for choice in openai.completions.create(**asked).choices}
    assert list(texts) == [0, 1, 2]
    assert all(texts.values())


def test_prompts_are_texts_or_tokens_one_or_several(openai: OpenAI, server: Live) -> None:
    text = "The capital of France is"
    ids = httpx.post(f"{server.url}/tokenize", json={"model": "one", "prompt": text}, timeout=60).json()["tokens"]
    prompts: tuple[Any, ...] = (text, [text], ids, [ids])
    answers = [
        openai.completions.create(model="one", prompt=prompt, max_tokens=5, temperature=0).choices for prompt in prompts
    ]
    assert [[choice.text for choice in choices] for choices in answers] == [[answers[0][0].text]] * 4
    both = openai.completions.create(model="one", prompt=[ids, ids], max_tokens=5, temperature=0).choices
    assert [choice.text for choice in both] == [answers[0][0].text] * 2


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
