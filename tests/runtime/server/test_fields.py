"""Parameters that would be without effect are refused by name; those of real clients are taken."""

import json
from typing import Any

import pytest

from arriero_runtime.server import fields, screen
from arriero_runtime.server.routes import ROUTES, Kind

CHAT = "/v1/chat/completions"


def fault(path: str, /, honoured: Any = frozenset(), **request: Any) -> dict[str, Any] | None:
    found = screen.refusal(path, json.dumps({"model": "one", **request}).encode(), honoured)
    return None if found is None else {"status": found.status, **json.loads(found.body)["error"]}


@pytest.mark.parametrize("path", sorted(fields.TAKEN))
def test_a_parameter_that_nobody_knows_is_refused_by_name(path: str) -> None:
    found = fault(path, temprature=1)
    assert found is not None
    assert (found["status"], found["param"], found["type"]) == (400, "temprature", "invalid_request_error")
    assert "'temprature' is not known" in found["message"]
    assert fault(path, temprature=None) is None


@pytest.mark.parametrize(
    ("name", "idle", "asking"),
    [
        ("service_tier", "auto", "priority"),
        ("store", False, True),
        ("modalities", ["text"], ["text", "audio"]),
        ("mm_payload", "tensors", "none"),
        ("best_of", 1, 3),
    ],
)
def test_what_this_server_does_not_do_is_refused_only_where_it_is_asked_for(name: str, idle: Any, asking: Any) -> None:
    assert fault(CHAT, **{name: idle}) is None
    found = fault(CHAT, **{name: asking})
    assert found is not None
    assert found["param"] == name


@pytest.mark.parametrize(
    ("name", "value"), [("priority", 3), ("kv_transfer_params", {"a": 1}), ("vllm_xargs", {"a": 1})]
)
def test_what_needs_a_flag_is_refused_without_it_and_names_it(name: str, value: Any) -> None:
    found = fault(CHAT, **{name: value})
    assert found is not None
    assert "spec.engine.args" in found["message"]
    assert fault(CHAT, frozenset({name}), **{name: value}) is None
    assert fault(CHAT, **{name: fields.UNLESS[name][0][0]}) is None


def test_a_parameter_that_works_only_with_another_names_it() -> None:
    found = fault(CHAT, length_penalty=2.0)
    assert found is not None
    assert "use_beam_search" in found["message"]
    assert fault(CHAT, length_penalty=2.0, use_beam_search=True) is None


def test_hints_of_openai_clients_are_taken() -> None:
    for name in ("metadata", "safety_identifier", "prompt_cache_key", "user"):
        assert fault(CHAT, **{name: "x"}) is None
    assert fault("/v1/responses", client_metadata={"session_id": "s1"}) is None


def clear(keep: Any) -> dict[str, Any]:
    """As Anthropic's clients ask for the reasoning of so many turns to stay in the prompt."""
    return {"edits": [{"type": "clear_thinking_20251015", "keep": keep}]}


MESSAGES, COUNT, EMBED = "/v1/messages", "/v1/messages/count_tokens", "/v2/embed"


@pytest.mark.parametrize(
    ("path", "name", "idle", "asking"),
    [
        (MESSAGES, "service_tier", "standard_only", "flex"),
        (MESSAGES, "speed", "standard", "fast"),
        (MESSAGES, "container", None, "c1"),
        (MESSAGES, "context_management", {"edits": []}, {"edits": [{"type": "clear_thinking_20251015"}]}),
        (MESSAGES, "context_management", clear("all"), clear({"type": "thinking_turns", "value": 1})),
        (COUNT, "context_management", clear({"type": "all"}), {"edits": [{"type": "clear_tool_uses_20250919"}]}),
        (
            MESSAGES,
            "context_management",
            {"edits": None},
            {"edits": [*clear("all")["edits"], {"type": "compact_20260112"}]},
        ),
        (MESSAGES, "diagnostics", {}, {"previous_message_id": "msg_1"}),
        (MESSAGES, "diagnostics", {"previous_message_id": None}, {"previous_message_id": ""}),
        (COUNT, "mcp_servers", [], [{"type": "url", "url": "https://tools.test", "name": "a"}]),
        (MESSAGES, "mm_payload", "tensors", "none"),
        (MESSAGES, "vllm_xargs", {}, {"a": 1}),
        (EMBED, "priority", 0, 3),
        ("/rerank", "return_documents", True, False),
        ("/v1/rerank", "return_documents", True, False),
        ("/v2/rerank", "return_documents", True, False),
        ("/v1/responses", "background", False, True),
        ("/v1/responses", "conversation", None, "c1"),
        ("/v1/responses", "prompt", None, {"id": "p1"}),
        ("/v1/responses", "service_tier", "default", "flex"),
        ("/v1/responses", "max_tool_calls", None, 2),
    ],
)
def test_what_other_apis_have_and_this_server_does_not_is_refused_only_where_it_is_asked_for(
    path: str, name: str, idle: Any, asking: Any
) -> None:
    assert fault(path, **{name: idle}) is None
    found = fault(path, **{name: asking})
    assert found is not None
    assert (found["status"], found["param"]) == (400, name)


@pytest.mark.parametrize("path", [MESSAGES, COUNT])
def test_what_anthropic_defines_without_an_effect_on_the_answer_is_taken(path: str) -> None:
    assert fault(path, metadata={"user_id": "u1"}, cache_control={"type": "ephemeral"}) is None


def test_hints_of_one_api_are_unknown_to_the_others() -> None:
    for path in (MESSAGES, COUNT, EMBED):
        assert fault(path, safety_identifier="x") is not None, path
    assert fault(EMBED, metadata={}) is not None


@pytest.mark.parametrize(
    ("path", "name", "instead"),
    [
        (MESSAGES, "stop", "stop_sequences"),
        (MESSAGES, "output_format", "output_config"),
        (COUNT, "reasoning_effort", "output_config"),
        (EMBED, "input", "texts"),
    ],
)
def test_a_parameter_of_another_api_names_that_of_this_one(path: str, name: str, instead: str) -> None:
    found = fault(path, **{name: "x"})
    assert found is not None
    assert f'"{instead}"' in found["message"]


def test_a_name_of_any_length_is_told_in_short() -> None:
    found = fault(CHAT, **{"x" * 10_000: 1})
    assert found is not None
    assert len(found["message"]) < 200


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32-le"])
@pytest.mark.parametrize("path", [CHAT, "/tokenize", "/v1/inference/completion", "/v1/messages"])
def test_a_body_in_another_encoding_is_refused(path: str, encoding: str) -> None:
    found = screen.refusal(path, json.dumps({"messages": [{"role": "user", "content": "</s>"}]}).encode(encoding))
    assert found is not None
    assert "UTF-8" in found.message


def test_other_paths_are_not_looked_at() -> None:
    assert fault("/v1/inference/completion", anything=1) is None


def test_every_route_that_reads_a_body_has_its_parameters() -> None:
    assert {path for path, kinds in ROUTES.items() if Kind.WORK in kinds.values()} == set(fields.TAKEN)
