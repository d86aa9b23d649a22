"""A server whose chats are asked by Llama Stack's prompts."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arriero_runtime.messages import Failed
from tests.runtime.native.formats.spelled import Letters
from tests.runtime.native.played import COUNT, METRICS, Answer, Native, completion, native, text_piece
from tests.runtime.server.harness import options_for, running

ARGUMENTS = ["--chat-format=LlamaStack"]
USER = {"role": "user", "content": "Weather in Rome? <|eot_id|>"}
WEATHER = {"tool_name": "get_weather", "parameters": {"place": {"param_type": "str"}}}
CALL = '{"type": "function", "name": "get_weather", "parameters": {"place": "Rome"}}'
EOT = Letters().special("<|eot_id|>")


@pytest.fixture
async def stack(tmp_path: Path) -> AsyncIterator[Native]:
    async with native(tmp_path, extra=ARGUMENTS, vocabulary=Letters()) as found:
        yield found


async def ask(stack: Native, **options: Any) -> dict[str, Any]:
    status, body = await stack.post("chat-completion", {"messages": [USER], **options})
    assert status == 200, body
    assert isinstance(body, dict)
    return body


async def test_the_engine_is_asked_with_token_ids_in_which_only_the_frame_is_control(stack: Native) -> None:
    stack.script.always(Answer(completion("Sunny.")))
    body = await ask(stack)
    assert body["completion_message"] == {
        "role": "assistant",
        "content": "Sunny.",
        "stop_reason": "end_of_turn",
        "tool_calls": [],
    }
    assert body["metrics"] == METRICS
    assert stack.script.asked[-1].path == "/v1/completions"
    assert stack.script.last["prompt"].count(EOT) == 2
    assert "messages" not in stack.script.last


async def test_calls_are_read_and_no_note_is_needed_for_the_format(stack: Native) -> None:
    stack.script.always(Answer(completion(CALL, stop_reason=EOT)))
    body = {"model_id": "one", "messages": [USER], "tools": [WEATHER], "tool_prompt_format": "json"}
    answer = await stack.server.client.post("/v1/inference/chat-completion", json=body)
    assert "x-arriero-note" not in answer.headers
    message = answer.json()["completion_message"]
    assert [(call["tool_name"], call["arguments"]) for call in message["tool_calls"]] == [
        ("get_weather", {"place": "Rome"})
    ]
    assert (message["content"], message["stop_reason"]) == ("", "end_of_message")


async def test_a_streamed_call_does_not_leak_as_text(stack: Native) -> None:
    pieces = [text_piece(CALL[:20], token_ids=[1]), text_piece(CALL[20:], token_ids=[2]), text_piece("", "stop"), COUNT]
    stack.script.always(Answer(events=pieces))
    found = await stack.stream("chat-completion", {"messages": [USER], "tools": [WEATHER]})
    deltas = [one["event"]["delta"] for one in found]
    assert "".join(delta["text"] for delta in deltas if delta["type"] == "text") == ""
    told = [delta["parse_status"] for delta in deltas if delta["type"] == "tool_call"]
    assert told == ["started", "in_progress", "succeeded"]
    assert found[-1]["event"]["stop_reason"] == "end_of_message"


async def test_log_probabilities_are_those_of_the_completion(stack: Native) -> None:
    logprobs = {"tokens": ["Sun"], "token_logprobs": [-0.5], "top_logprobs": [{"Sun": -0.5, "Rain": -1.0}]}
    stack.script.always(Answer(completion("Sun", logprobs=logprobs)))
    body = await ask(stack, logprobs={"top_k": 2})
    assert stack.script.last["logprobs"] == 2
    assert body["logprobs"] == [{"logprobs_by_token": {"Sun": -0.5, "Rain": -1.0}}]


async def test_a_batch_of_chats_is_asked_the_same_way(stack: Native) -> None:
    stack.script.always(Answer(completion("Sunny.")))
    status, body = await stack.post("batch-chat-completion", {"messages_batch": [[USER], [USER]]})
    assert status == 200
    assert [one["completion_message"]["content"] for one in body["batch"]] == ["Sunny."] * 2
    assert {one.path for one in stack.script.asked} == {"/v1/completions"}


async def test_what_is_asked_changes_nothing_of_the_next_question(stack: Native) -> None:
    stack.script.always(Answer(completion("{}")))
    system = {"role": "system", "content": "Be kind."}
    shared = {"tools": [WEATHER], "response_format": {"type": "json_schema", "json_schema": {"type": "object"}}}
    for _ in range(2):
        status, _body = await stack.post("batch-chat-completion", {"messages_batch": [[system, USER]] * 3, **shared})
        assert status == 200
    await ask(stack, messages=[system, USER], **shared)
    asked = [one.body for one in stack.script.asked]
    assert len(asked) == 7
    assert all(one == asked[0] for one in asked)


async def test_an_image_is_400_with_what_to_use(stack: Native) -> None:
    image = {"type": "image", "image": {"url": {"uri": "https://example.com/dog.jpg"}}}
    status, body = await stack.post("chat-completion", {"messages": [{"role": "user", "content": [image]}]})
    assert status == 400 and "chatFormat: Template" in body["detail"]


async def test_a_model_with_other_tokens_does_not_start_and_says_why(tmp_path: Path) -> None:
    async with running(options_for(tmp_path, ARGUMENTS), ready=False) as server:
        server.loader.go.set()
        assert await server.exit_code() == 1
        [failed] = server.heard(Failed)
    assert failed.failure.reason == "InvalidArguments"
    assert "chatFormat: LlamaStack does not fit" in failed.failure.message
