"""What `/v1/responses` and `/v1/messages` take works with the real engine; what would not is refused by name."""

from typing import Any

import httpx
import pytest

from tests.runtime.openai.asking import error_of
from tests.runtime.openai.conftest import LENGTH

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]
TOOL = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
LONG = "one two three four five six seven eight nine ten " * LENGTH


def respond(client: httpx.Client, **more: Any) -> httpx.Response:
    request = {"model": "one", "input": "What is the capital of France?", "max_output_tokens": 16, "temperature": 0}
    return client.post("/v1/responses", json={**request, **more})


def text_of(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text[:500]
    found: str = answer.json()["output"][0]["content"][0]["text"]
    return found


@pytest.mark.parametrize(
    ("name", "request_"),
    [
        ("tools", {"tools": [{"type": "web_search"}]}),
        ("tools", {"tools": [TOOL, {"type": "code_interpreter", "container": {"type": "auto"}}]}),
        ("tool_choice", {"tools": [TOOL], "tool_choice": {"type": "web_search_preview"}}),
        ("max_tool_calls", {"max_tool_calls": 1}),
        ("background", {"background": True}),
        ("include", {"include": ["file_search_call.results"]}),
        ("top_logprobs", {"top_logprobs": 2}),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_would_be_without_effect_in_a_response_is_refused_by_name(
    client: httpx.Client, name: str, request_: dict[str, Any], stream: bool
) -> None:
    error = error_of(respond(client, stream=stream, **request_))
    assert (error["param"], error["type"]) == (name, "invalid_request_error")


def test_hints_of_a_response_change_nothing(client: httpx.Client) -> None:
    hints = {
        "user": "u1",
        "safety_identifier": "s1",
        "prompt_cache_key": "k1",
        "metadata": {"a": "b"},
        "service_tier": "auto",
        "reasoning": {"summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "store": False,
        "truncation": "disabled",
    }
    plain = text_of(respond(client))
    assert "Paris" in plain
    assert text_of(respond(client, **hints)) == plain


def test_log_probabilities_come_with_what_asks_for_them(client: httpx.Client) -> None:
    found = respond(client, include=["message.output_text.logprobs"], top_logprobs=2).json()
    told = found["output"][0]["content"][0]["logprobs"]
    assert told
    assert {len(one["top_logprobs"]) for one in told} == {2}


def test_a_prompt_that_is_too_long_is_cut_where_that_is_asked_for(client: httpx.Client) -> None:
    asked = f"{LONG} What is the capital of France?"
    assert error_of(respond(client, input=asked))["type"] == "invalid_request_error"
    assert text_of(respond(client, input=asked, truncation="auto"))


def message(client: httpx.Client, path: str = "/v1/messages", **more: Any) -> httpx.Response:
    request: dict[str, Any] = {"model": "one", "messages": [{"role": "user", "content": "Hello"}]}
    return client.post(path, json={**request, **({} if path.endswith("tokens") else {"max_tokens": 5}), **more})


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
@pytest.mark.parametrize(
    ("request_", "status", "kind", "words"),
    [
        ({"temprature": 1}, 400, "invalid_request_error", "'temprature' is not known"),
        ({"model": "other"}, 404, "not_found_error", "other"),
        ({"messages": 5}, 400, "invalid_request_error", "messages"),
        ({"tools": [{"type": "bash_20250124", "name": "bash"}]}, 400, "invalid_request_error", "bash_20250124"),
        ({"thinking": {"type": "enabled", "budget_tokens": 1}}, 400, "invalid_request_error", "budget_tokens"),
    ],
)
def test_errors_of_messages_are_in_anthropics_form(
    client: httpx.Client, path: str, request_: dict[str, Any], status: int, kind: str, words: str
) -> None:
    answer = message(client, path, **request_)
    found = answer.json()
    assert (answer.status_code, set(found), found["type"]) == (status, {"type", "error"}, "error")
    assert found["error"]["type"] == kind
    assert words in found["error"]["message"]


def test_a_budget_of_thinking_is_refused_where_the_engine_cannot_keep_it(client: httpx.Client) -> None:
    answer = message(client, max_tokens=2000, thinking={"type": "enabled", "budget_tokens": 1024})
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize("stream", [False, True])
def test_a_form_that_has_no_answer_is_the_requests_fault_from_the_start_of_a_stream_on(
    client: httpx.Client, stream: bool
) -> None:
    form = {"type": "json_schema", "schema": {"type": "integer", "minimum": 5, "maximum": 3}}
    answer = message(client, stream=stream, output_config={"format": form})
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")
