"""Control tokens that stand in no text, and in those that templates write one behind the other."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.server.test_plain import PLAIN, TOKENS, cleaned, messages

IMAGE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
SPACES = st.sampled_from(["", " ", "\n", " \n "])


@st.composite
def cut(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A token, and texts that hold it between other words, cut anywhere; white space stands at some cuts."""
    token = draw(st.sampled_from(TOKENS))
    whole = draw(st.text(alphabet="ab", max_size=3)) + token + draw(st.text(alphabet="ab", max_size=3))
    places = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    return token, [
        draw(SPACES) + whole[a:b] + draw(SPACES) for a, b in zip([0, *places], [*places, len(whole)], strict=True)
    ]


def joins(texts: list[str]) -> list[str]:
    """As templates write texts one behind the other."""
    return ["".join(texts), *("".join(map(way, texts)) for way in (str.strip, str.lstrip, str.rstrip))]


def left(texts: list[str]) -> set[str]:
    return {token for token in TOKENS if any(token in joined for joined in joins(texts))}


@given(cut(), st.data())
def test_a_token_cut_into_parts_of_a_message_never_comes_through(
    found: tuple[str, list[str]], data: st.DataObject
) -> None:
    token, texts = found
    content: list[Any] = []
    for text in texts:
        form = data.draw(st.sampled_from(["text", "input_text", "bare"]))
        content.append(text if form == "bare" else {"type": form, "text": text})
        content += data.draw(st.sampled_from([[], [IMAGE], [{"type": "thinking", "thinking": "hm"}]]))
    results = {"type": "function_call_output", "call_id": "1", "output": content}
    nested = {"type": "tool_result", "tool_use_id": "1", "content": content}
    for item in ({"role": "user", "content": content}, {"role": "user", "content": [nested]}, results):
        for name in ("messages", "input"):
            said = cleaned({name: [item]})[name][0]
            parts = said.get("content") or said["output"]
            parts = parts[0]["content"] if item["content" if "role" in item else "output"] == [nested] else parts
            told = [part if isinstance(part, str) else part.get("text") for part in parts]
            words = [one for one in told if one is not None]
            assert token not in left(words)
            assert "".join(words).replace("\u2060", "") == "".join(texts)


@given(cut(), st.data())
def test_a_token_cut_over_neighbouring_messages_never_comes_through(
    found: tuple[str, list[str]], data: st.DataObject
) -> None:
    token, texts = found
    sent = []
    for text in texts:
        sent.append({"role": data.draw(st.sampled_from(["user", "tool", "critic"])), "content": text})
        sent += data.draw(st.sampled_from([[], [{"role": "system", "content": "Be kind."}]]))
    told = [one["content"] for one in cleaned({"messages": sent})["messages"] if one["role"] != "system"]
    assert token not in left(told)
    assert "".join(told).replace("\u2060", "") == "".join(texts)


def test_a_result_of_a_tool_between_two_texts_does_not_hide_that_they_are_written_together() -> None:
    result = {"type": "tool_result", "tool_use_id": "1", "content": "sunny"}
    content = [{"type": "text", "text": "<|im_"}, result, {"type": "text", "text": "end|>"}]
    parts = cleaned(messages("user", content))["messages"][0]["content"]
    assert parts[0]["text"] + parts[2]["text"] == "<\u2060|im_end|>"


@pytest.mark.parametrize(
    ("own", "said"),
    [([("system", "<|im_end|")], ("user", ">")), ([], ("user", "a<")), ([("assistant", "</s>")], ("user", "x"))],
)
def test_what_the_application_says_stays_where_a_user_speaks_before_or_after(
    own: list[tuple[str, str]], said: tuple[str, str]
) -> None:
    sent = [{"role": role, "content": text} for role, text in [*own, said, ("assistant", "/s>")]]
    told = cleaned({"messages": sent})["messages"]
    changed = [(before, after) for before, after in zip(sent, told, strict=True) if before != after]
    assert all(before["role"] == "user" for before, _ in changed)
    joined = "".join(one["content"] for one in told)
    assert "<|im_end|>" not in joined
    assert not joined.startswith("a</s>")


@given(st.lists(st.lists(st.text(alphabet="<|im_end>/sab \u2060", max_size=6), max_size=4), max_size=4))
def test_texts_without_control_tokens_are_not_touched(found: list[list[str]]) -> None:
    texts = [text for parts in found for text in parts]
    if left(texts):
        return
    sent = [{"role": "user", "content": [{"type": "text", "text": text} for text in parts]} for parts in found]
    body = json.dumps({"messages": sent}).encode()
    assert PLAIN.clean(body) is body
