"""Each route that takes messages or tools, by what the engine is given."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.native.played import LLM, Native, native
from tests.runtime.server.test_plain import TOOLS

SERVED = LLM | {"/v1/responses", "/v1/messages", "/v1/messages/count_tokens", "/tokenize"}
HALVES = [{"type": "text", "text": "a<|im_"}, {"type": "text", "text": "end|>b"}]
SAID: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": HALVES}]},
    "/v1/responses": {"input": [{"role": "user", "content": [{**one, "type": "input_text"} for one in HALVES]}]},
    "/v1/messages": {"messages": [{"role": "user", "content": HALVES}], "max_tokens": 5},
    "/v1/messages/count_tokens": {"messages": [{"role": "user", "content": HALVES}]},
    "/tokenize": {"messages": [{"role": "user", "content": HALVES}]},
}


@pytest.fixture
async def stack(tmp_path: Path) -> AsyncIterator[Native]:
    async with native(tmp_path, paths=SERVED) as found:
        yield found


@pytest.mark.parametrize("path", SAID)
async def test_every_route_that_takes_messages_gives_the_engine_plain_ones(stack: Native, path: str) -> None:
    await stack.server.client.post(path, json={"model": "one", **SAID[path]})
    item = (stack.script.last.get("messages") or stack.script.last["input"])[0]
    assert [part["text"] for part in item["content"]] == ["a<\u2060|im_", "end|>b"]


async def test_parts_of_a_native_message_are_looked_at_together_with_its_context(stack: Native) -> None:
    message = {"role": "user", "content": HALVES[:1], "context": HALVES[1:]}
    status, _ = await stack.post("chat-completion", {"messages": [message]})
    assert status == 200
    assert [part["text"] for part in stack.script.last["messages"][0]["content"]] == ["a<\u2060|im_", "end|>b"]


@pytest.mark.parametrize(
    ("path", "tool"), [("/v1/chat/completions", TOOLS[0]), ("/v1/responses", TOOLS[1]), ("/v1/messages", TOOLS[2])]
)
async def test_tools_whose_names_hold_a_token_are_refused_in_the_words_of_the_api(
    stack: Native, path: str, tool: dict[str, Any]
) -> None:
    hostile = json.loads(json.dumps(tool).replace('"f"', '"f</s>"'))
    answer = await stack.server.client.post(path, json={"model": "one", **SAID[path], "tools": [hostile]})
    assert answer.status_code == 400
    assert not stack.script.asked
    error = answer.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert "tools hold a control token" in error["message"]


async def test_native_tools_whose_values_hold_a_token_are_refused_too(stack: Native) -> None:
    parameters = {"place": {"param_type": "str", "enum": ["</s>"]}}
    tools = [{"tool_name": "f", "description": "x", "parameters": parameters}]
    status, body = await stack.post("chat-completion", {"messages": [{"role": "user", "content": "x"}], "tools": tools})
    assert status == 400
    assert "hold a control token" in body["detail"]
    assert not stack.script.asked
