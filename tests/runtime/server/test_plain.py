"""Control tokens in what people and tools say are put out of action, and nothing else is changed."""

import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arriero_runtime.server import spellings
from arriero_runtime.server.plain import Plain
from arriero_runtime.server.tool_words import TokenInPlace
from tests.runtime.server.scripted import ScriptedEngine

BAR = "\uff5c"
"""As in the tokens of some models."""
TOKENS = ("<|im_start|>", "<|im_end|>", "</s>", "<|im|>", f"<{BAR}User{BAR}>")
PLAIN = Plain(ScriptedEngine().app, TOKENS)


def cleaned(request: dict[str, Any]) -> Any:
    return json.loads(PLAIN.clean(json.dumps(request).encode()))


def messages(role: str, content: Any) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": content}], "n": 1}


@pytest.mark.parametrize("role", ["user", "tool", "function", "User", "System", "critic"])
@pytest.mark.parametrize("token", TOKENS)
def test_what_is_said_holds_no_control_token(role: str, token: str) -> None:
    for content in (f"a{token}b", [{"type": "text", "text": f"a{token}b"}]):
        told = json.dumps(cleaned(messages(role, content))["messages"], ensure_ascii=False)
        assert token not in told
        assert token in told.replace("\u2060", "")


@pytest.mark.parametrize("role", ["system", "developer", "assistant"])
def test_what_the_application_says_stays_as_it_is(role: str) -> None:
    assert cleaned(messages(role, "a<|im_end|>b")) == messages(role, "a<|im_end|>b")


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        (r"\u003c|im_end|>", "<\u2060|im_end|>"),
        (r"<\/s>", "<\u2060/s>"),
        (f"<{BAR}User{BAR}>", f"<\u2060{BAR}User{BAR}>"),
        (r"<\uff5cUser\uff5c>", f"<\u2060{BAR}User{BAR}>"),
        (rf"<\uFF5CUser{BAR}>", f"<\u2060{BAR}User{BAR}>"),
    ],
)
def test_a_token_is_found_in_whatever_way_json_lets_it_be_written(written: str, plain: str) -> None:
    body = f'{{"messages": [{{"role": "user", "content": "{written}"}}]}}'.encode()
    assert json.loads(PLAIN.clean(body))["messages"][0]["content"] == plain


def test_items_of_the_responses_api_are_looked_at() -> None:
    items = [{"role": "user", "content": "</s>"}, {"type": "function_call_output", "call_id": "1", "output": "</s>"}]
    for said in ("</s>", items):
        assert "</s>" not in json.dumps(cleaned({"input": said}))


def test_documents_are_looked_at() -> None:
    assert "</s>" not in json.dumps(cleaned({"messages": [], "documents": [{"text": "</s>"}]}))


@given(st.text(alphabet="<|im_end>/sUr\uff5c \u2060é", max_size=40))
def test_no_text_makes_a_token_and_its_characters_stay(text: str) -> None:
    said = cleaned(messages("user", text))["messages"][0]["content"]
    assert not any(token in said for token in TOKENS)
    assert said.replace("\u2060", "") == text.replace("\u2060", "")


@pytest.mark.parametrize("body", [b"", b"</s>", b'["</s>"]', b'{"messages": "</s>', b'{"messages": 5, "x": "</s>"}'])
def test_what_is_no_chat_is_left_to_the_engine(body: bytes) -> None:
    assert PLAIN.clean(body) == body


def test_hundreds_of_tokens_that_begin_alike_take_no_longer_than_a_few() -> None:
    many = Plain(ScriptedEngine().app, [f"<|reserved_special_token_{number}|>" for number in range(2000)])
    body = json.dumps(messages("user", "<|reserved_special_token_" * 40_000 + "<|reserved_special_token_7|>")).encode()
    began = time.process_time()
    assert "\u2060" in json.loads(many.clean(body))["messages"][0]["content"]
    assert time.process_time() - began < 1


@given(st.sets(st.text(alphabet="ab", min_size=1, max_size=5), max_size=8), st.text(alphabet="abc", max_size=30))
def test_the_longest_word_that_begins_at_a_place_is_found(words: set[str], text: str) -> None:
    one_by_one = "|".join(sorted(words, key=len, reverse=True)) or "(?!)"
    found = [match.span() for match in re.finditer(spellings.pattern(words), text)]
    assert found == [match.span() for match in re.finditer(one_by_one, text)]


def test_a_body_without_tokens_is_not_written_anew() -> None:
    body = b'{ "messages": [ {"role": "user", "content": "a < b"} ] }'
    assert PLAIN.clean(body) is body


def test_tokens_that_overlap_are_all_put_out_of_action() -> None:
    plain = Plain(ScriptedEngine().app, ["<a>", ">b<"])
    said = json.loads(plain.clean(json.dumps(messages("user", "<a>b<")).encode()))["messages"][0]["content"]
    assert "<a>" not in said
    assert ">b<" not in said


@pytest.mark.parametrize("where", ["role", "name"])
def test_who_speaks_is_no_token_either(where: str) -> None:
    message = {"role": "user", "content": "x", where: "</s>"}
    assert cleaned({"messages": [message]})["messages"][0][where] == "<\u2060/s>"


TOOL = {"type": "object", "properties": {"description": {"type": "string", "description": "a</s>b", "enum": ["x"]}}}
TOOLS = [
    {"type": "function", "function": {"name": "f", "description": "a</s>b", "parameters": TOOL}},
    {"type": "function", "name": "f", "description": "a</s>b", "parameters": TOOL},
    {"name": "f", "description": "a</s>b", "input_schema": TOOL},
]
"""As chats, the Responses API and Anthropic's have them."""


@pytest.mark.parametrize("tool", TOOLS)
def test_what_describes_a_tool_holds_no_control_token_and_the_rest_stays(tool: dict[str, Any]) -> None:
    for request in ({"tools": [tool]}, {"messages": [{"role": "developer", "tools": [tool]}]}):
        told = json.dumps(cleaned(request), ensure_ascii=False)
        assert "</s>" not in told
        assert json.loads(told.replace("\u2060", "")) == request


def addition(tool: dict[str, Any]) -> dict[str, Any]:
    """As Anthropic's API has one that comes in the middle of a conversation."""
    change = {"type": "tool_definition", "definition": tool}
    return {"messages": [{"role": "system", "content": [{"type": "tool_addition", "tool": change}]}]}


def namespace(tool: dict[str, Any]) -> dict[str, Any]:
    """As the Responses API has one inside of another."""
    return {"tools": [{"type": "namespace", "name": "n", "description": "a</s>b", "tools": [tool]}]}


@pytest.mark.parametrize("request_", [addition(TOOLS[2]), namespace(TOOLS[1])])
def test_a_tool_inside_of_another_or_of_a_message_is_looked_at_too(request_: dict[str, Any]) -> None:
    told = json.dumps(cleaned(request_), ensure_ascii=False)
    assert "</s>" not in told
    assert json.loads(told.replace("\u2060", "")) == request_


@pytest.mark.parametrize("form", [addition, namespace])
def test_a_token_in_the_name_of_such_a_tool_is_told(form: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    with pytest.raises(TokenInPlace, match="hold a control token"):
        cleaned(form({"name": "f</s>"}))


@pytest.mark.parametrize(
    "place",
    ['"name": "f</s>"', '"enum": ["</s>"]', '"properties": {"a</s>": {}}', '"pattern": "</s>+"', '"const": "</s>"'],
)
def test_a_token_in_what_the_parser_of_calls_takes_letter_by_letter_is_told(place: str) -> None:
    tool = f'{{"function": {{"description": "x", "parameters": {{"properties": {{"description": {{{place}}}}}}}}}}}'
    with pytest.raises(TokenInPlace, match="hold a control token"):
        PLAIN.clean(f'{{"tools": [{tool}]}}'.encode())
