"""What stands inside of a parameter and would be without effect is refused; what real clients send is taken."""

from typing import Any

import pytest

from arriero_runtime.engine.protocol import HOSTED_TOOLS
from arriero_runtime.server.routes import COUNT_TOKENS, MESSAGES, RESPONSES
from arriero_runtime.server.within import fault

FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object"}}
GRAMMAR = {
    "type": "custom",
    "name": "apply_patch",
    "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"},
}
TOOL = {"name": "f", "input_schema": {"type": "object"}}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}}


@pytest.mark.parametrize(
    "kind",
    ["web_search", "web_search_preview", "file_search", "code_interpreter", "mcp", "image_generation", "local_shell"],
)
def test_a_tool_that_openai_would_run_is_refused_by_its_type(kind: str) -> None:
    found = fault(RESPONSES, {"tools": [FUNCTION, {"type": kind}]})
    assert found is not None
    assert found[0] == "tools"
    assert f"'{kind}', which this server does not run" in found[1]


def test_an_engine_with_servers_of_tools_runs_those_that_it_knows() -> None:
    engine = frozenset({HOSTED_TOOLS})
    assert fault(RESPONSES, {"tools": [{"type": "code_interpreter"}, {"type": "mcp"}]}, engine) is None
    assert fault(RESPONSES, {"tools": [{"type": "file_search"}]}, engine) is not None


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        ({"tools": [{"type": "namespace", "name": "n", "tools": [{"type": "custom", "name": "c"}]}]}, "tools"),
        ({"tools": [FUNCTION, GRAMMAR]}, "tools"),
        ({"tools": [FUNCTION], "tool_choice": {"type": "file_search"}}, "tool_choice"),
        ({"tools": [FUNCTION], "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}}, "tool_choice"),
        ({"include": ["web_search_call.action.sources"]}, "include"),
        ({"include": ["message.output_text.logprobs", "file_search_call.results"]}, "include"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"reasoning": {"effort": "low", "summary": "detailed"}}, "reasoning"),
        ({"reasoning": {"mode": "pro"}}, "reasoning"),
        ({"text": {"verbosity": "low"}}, "text"),
        ({"text": {"formt": {}}}, "text"),
        ({"input": [{"role": "assistant", "content": []}]}, "input"),
        ({"input": [{"role": "assistant", "content": [{"type": "output_text", "text": t} for t in "ab"]}]}, "input"),
    ],
    ids=str,
)
def test_what_the_engine_passes_over_in_a_response_is_refused_by_name(request_: dict[str, Any], name: str) -> None:
    found = fault(RESPONSES, request_)
    assert found is not None
    assert found[0] == name


@pytest.mark.parametrize(
    "request_",
    [
        {"input": "x", "tools": None, "include": None, "reasoning": None, "text": None, "top_logprobs": 0},
        {"tools": [FUNCTION, {"type": "custom", "name": "c"}], "tool_choice": {"type": "function", "name": "f"}},
        {"tools": [{"type": "namespace", "name": "n", "tools": [FUNCTION]}], "tool_choice": "required"},
        {"tools": [{"type": "custom", "name": "c", "format": {"type": "text"}}], "tool_choice": "auto"},
        {"include": ["reasoning.encrypted_content"], "reasoning": {"effort": "medium", "summary": "auto"}},
        {"include": ["message.output_text.logprobs"], "top_logprobs": 2},
        {"text": {"format": {"type": "text"}, "verbosity": "medium"}},
        {"input": [{"role": "assistant", "content": [{"type": "output_text", "text": "a"}]}]},
        {"tools": 5, "include": "x", "reasoning": [], "text": "x", "input": [1, None]},
    ],
    ids=str,
)
def test_what_works_in_a_response_or_asks_for_nothing_is_taken(request_: dict[str, Any]) -> None:
    assert fault(RESPONSES, request_) is None


def said(*blocks: dict[str, Any], role: str = "user") -> dict[str, Any]:
    return {"messages": [{"role": role, "content": list(blocks)}]}


def result(*blocks: dict[str, Any]) -> dict[str, Any]:
    return said({"type": "tool_result", "tool_use_id": "t", "content": list(blocks)})


def added(tool: dict[str, Any]) -> dict[str, Any]:
    change = {"type": "tool_definition", "definition": tool}
    return said({"type": "tool_addition", "tool": change}, role="system")


@pytest.mark.parametrize("path", [MESSAGES, COUNT_TOKENS])
@pytest.mark.parametrize(
    ("request_", "name", "words"),
    [
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools", "web_search_20250305"),
        ({"tools": [TOOL | {"input_examples": [{"a": 1}]}]}, "tools", "input_examples"),
        ({"tools": [TOOL | {"allowed_callers": ["code_execution_20250825"]}]}, "tools", "allowed_callers"),
        ({"output_config": {"task_budget": {"type": "tokens", "total": 1}}}, "output_config", "task_budget"),
        ({"thinking": {"type": "adaptive", "display": "updates"}}, "thinking", "display"),
        (
            {"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}},
            "thinking",
            "block_binding",
        ),
        ({"thinking": {"type": "adaptive", "budget_tokens": 2048}}, "thinking", "budget_tokens"),
        ({"system": [{"type": "text", "text": "a"}, IMAGE]}, "system", "image"),
        (said(IMAGE, role="system"), "messages", "image"),
        (added({"type": "web_search_20250305", "name": "web_search"}), "messages", "web_search_20250305"),
        (added(TOOL | {"input_examples": [{"a": 1}]}), "messages", "input_examples"),
        (result({"type": "document", "source": {}}), "messages", "document"),
        (result({"type": "image", "source": {"type": "file", "file_id": "f"}}), "messages", "file"),
        (said({"type": "image", "source": {"type": "file", "file_id": "f"}}), "messages", "file"),
    ],
    ids=str,
)
def test_what_the_engine_passes_over_in_messages_is_refused_by_name(
    path: str, request_: dict[str, Any], name: str, words: str
) -> None:
    found = fault(path, request_)
    assert found is not None
    assert found[0] == name
    assert f"'{words}'" in found[1]


@pytest.mark.parametrize(
    "request_",
    [
        {"system": "a", "messages": [{"role": "user", "content": "x"}], "thinking": None, "tools": None},
        {"tools": [TOOL | {"cache_control": {"type": "ephemeral"}, "type": "custom", "strict": True}]},
        {"tools": [TOOL | {"eager_input_streaming": True, "allowed_callers": ["direct"], "defer_loading": True}]},
        {"tools": [TOOL], "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        {"thinking": {"type": "enabled", "budget_tokens": 2048, "display": "summarized"}},
        {"thinking": {"type": "adaptive", "display": "omitted", "block_binding": {}}},
        {"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": None}}},
        {"thinking": {"type": "disabled"}, "output_config": {"effort": "low", "format": None}},
        {"system": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]},
        said(IMAGE, {"type": "text", "text": "a", "citations": []}),
        result({"type": "text", "text": "a"}, IMAGE),
        said({"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": "a"}),
        said({"type": "text", "text": "a"}, {"type": "tool_removal", "tool": {}}, role="system"),
        added(TOOL | {"strict": True}),
        {"tools": 5, "system": 5, "messages": [1, None], "output_config": [], "thinking": "x"},
    ],
    ids=str,
)
def test_what_works_in_messages_or_asks_for_nothing_is_taken(request_: dict[str, Any]) -> None:
    assert fault(MESSAGES, request_) is None


def test_the_name_of_a_type_may_be_any_text() -> None:
    found = fault(RESPONSES, {"tools": [{"type": "\ud800" * 1000}]})
    assert found is not None
    assert len(found[1].encode()) < 400
    assert fault(MESSAGES, {"thinking": {"type": "disabled", "x": [1]}}) is not None
