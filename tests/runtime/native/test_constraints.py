"""Constraints that would stall the engine for others are refused before it sees them."""

from pathlib import Path
from typing import Any

import pytest

from tests.runtime.native.formats.spelled import Letters
from tests.runtime.native.played import native

LONG = 'root ::= "' + "x" * 70_000 + '"'
MANY = {"type": "object", "properties": {str(number): {"type": "string"} for number in range(600)}}


@pytest.mark.parametrize("arguments", [[], ["--chat-format=LlamaStack"]], ids=["template", "prompts"])
async def test_a_constraint_that_would_stall_the_engine_is_400(tmp_path: Path, arguments: list[str]) -> None:
    user = {"messages": [{"role": "user", "content": "x"}]}
    tool = {"tool_name": "f", "parameters": {f"p{number}": {"param_type": "str"} for number in range(600)}}
    grammar = {"type": "grammar", "bnf": LONG}
    schema = {"type": "json_schema", "json_schema": MANY}
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("completion", {"content": "x", "response_format": grammar}, "response_format"),
        ("completion", {"content": "x", "response_format": schema}, "response_format"),
        ("chat-completion", {**user, "response_format": grammar}, "response_format"),
        ("batch-completion", {"content_batch": ["x"], "response_format": grammar}, "response_format"),
        ("chat-completion", {**user, "tools": [tool], "tool_choice": "required"}, ""),
    ]
    async with native(tmp_path, extra=arguments, vocabulary=Letters()) as stack:
        for route, request, where in cases:
            status, body = await stack.post(route, request)
            assert status == 400, (route, body)
            words = body.get("detail") or body["error"]["message"]
            assert where in words, words
        assert not stack.script.asked
