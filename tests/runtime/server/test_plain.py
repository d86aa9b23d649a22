"""Control tokens in what people and tools say are put out of action, and nothing else is changed."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arriero_runtime.server.plain import Plain
from tests.runtime.server.scripted import ScriptedEngine

TOKENS = ("<|im_start|>", "<|im_end|>", "</s>", "<|im|>")
PLAIN = Plain(ScriptedEngine().app, TOKENS)


def cleaned(request: dict[str, Any]) -> Any:
    return json.loads(PLAIN.clean(json.dumps(request).encode()))


def messages(role: str, content: Any) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": content}], "n": 1}


@pytest.mark.parametrize("role", ["user", "tool", "function"])
@pytest.mark.parametrize("token", TOKENS)
def test_what_is_said_holds_no_control_token(role: str, token: str) -> None:
    for content in (f"a{token}b", [{"type": "text", "text": f"a{token}b"}]):
        told = json.dumps(cleaned(messages(role, content))["messages"], ensure_ascii=False)
        assert token not in told
        assert token in told.replace("\u2060", "")


@pytest.mark.parametrize("role", ["system", "developer", "assistant"])
def test_what_the_application_says_stays_as_it_is(role: str) -> None:
    assert cleaned(messages(role, "a<|im_end|>b")) == messages(role, "a<|im_end|>b")


def test_a_token_written_with_escapes_is_found() -> None:
    body = rb'{"messages": [{"role": "user", "content": "\u003c|im_end|>"}]}'
    assert json.loads(PLAIN.clean(body))["messages"][0]["content"] == "<\u2060|im_end|>"


def test_items_of_the_responses_api_are_looked_at() -> None:
    items = [{"role": "user", "content": "</s>"}, {"type": "function_call_output", "call_id": "1", "output": "</s>"}]
    for said in ("</s>", items):
        assert "</s>" not in json.dumps(cleaned({"input": said}))


def test_documents_are_looked_at() -> None:
    assert "</s>" not in json.dumps(cleaned({"messages": [], "documents": [{"text": "</s>"}]}))


@given(st.text(alphabet="<|im_end>/s \u2060é", max_size=40))
def test_no_text_makes_a_token_and_its_characters_stay(text: str) -> None:
    said = cleaned(messages("user", text))["messages"][0]["content"]
    assert not any(token in said for token in TOKENS)
    assert said.replace("\u2060", "") == text.replace("\u2060", "")


@pytest.mark.parametrize("body", [b"", b"</s>", b'["</s>"]', b'{"messages": "</s>', b'{"messages": 5, "x": "</s>"}'])
def test_what_is_no_chat_is_left_to_the_engine(body: bytes) -> None:
    assert PLAIN.clean(body) == body


def test_a_body_without_tokens_is_not_even_read_anew() -> None:
    body = b'{ "messages": [ {"role": "user", "content": "a < b"} ] }'
    assert PLAIN.clean(body) is body
