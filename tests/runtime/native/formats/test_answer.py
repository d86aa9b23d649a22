"""Answers of Llama models: nothing of a call leaks as text, and it does not matter where a stream is cut."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arriero_runtime.native import chat
from arriero_runtime.native.errors import Refused
from arriero_runtime.native.formats.answer import Stream, whole

OFFERED = frozenset({"f", "g", "brave_search", "code_interpreter"})
EOM, EOT, TAG = 128008, 128009, 128010
ENDS = frozenset({EOM})
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
ANSWERS = (
    "Paris is a <b>town</b> of [many] {parts}.",
    "  Paris",
    "",
    '[f(a="x)y"), g(b=[1, {"c": True}])]',
    "[f(a=1",
    "[see (note)]",
    '{"type": "function", "name": "f", "parameters": {"a": {"b": 1}}}',
    '{"type": "function", "name": "rm", "parameters": {}}',
    '{"answer": 42}',
    'Let me see. <function=f>{"a": 1}</function>',
    "Less <function than that",
    '<function=f>{"a": 1',
    'brave_search.call(query="a \\"b\\"")',
    "brave_search.calls are nice",
    "print(1)",
)
answers = st.one_of(st.sampled_from(ANSWERS), st.text(alphabet='[]{}<>()="f1 brave_serch.function', max_size=30))


def a_stream(offered: frozenset[str] = OFFERED) -> Stream:
    return Stream(offered, ENDS, TAG, ("<|python_tag|>", ""))


def choice(text: str, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "text": text, **more}]}


def plain(answer: dict[str, Any]) -> dict[str, Any]:
    """Without the ids of calls, which are random."""
    message = answer["completion_message"]
    calls = [{**call, "call_id": ""} for call in message["tool_calls"]]
    return {**answer, "completion_message": {**message, "tool_calls": calls}}


def logprobs_of(letters: str) -> dict[str, Any]:
    return {"tokens": list(letters), "token_logprobs": [-0.5] * len(letters), "top_logprobs": [{}] * len(letters)}


@given(
    answers,
    st.booleans(),
    st.sampled_from([("stop", EOM), ("stop", EOT), ("stop", None), ("length", None)]),
    st.sampled_from([OFFERED, frozenset()]),
    st.booleans(),
    st.data(),
)
def test_a_stream_says_what_the_whole_answer_says_wherever_it_is_cut(
    text: str,
    tagged: bool,
    end: tuple[str, int | None],
    offered: frozenset[str],
    with_logprobs: bool,
    draw: st.DataObject,
) -> None:
    ids = [TAG if tagged else 5, *range(100, 100 + len(text))]
    last = {"finish_reason": end[0], "stop_reason": end[1]}
    logprobs = logprobs_of(text) if with_logprobs else None
    all_at_once = {**choice(text, token_ids=ids, logprobs=logprobs, **last), "usage": USAGE}
    once = whole(all_at_once, a_stream(offered))

    cuts = sorted(draw.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    chunks = [choice("", token_ids=ids[:1])]
    chunks += [choice(one, token_ids=[7], logprobs=logprobs_of(one) if with_logprobs else None) for one in pieces]
    chunks += [choice("", **last), {"choices": [], "usage": USAGE}]
    stream = a_stream(offered)
    events = [event for one in chunks for event in stream.feed(one)] + stream.end(complete=True)
    assert plain(chat.joined(events)) == plain(once)
    deltas = [event["event"]["delta"] for event in events]
    shown = "".join(delta["text"] for delta in deltas if delta["type"] == "text")
    if once["completion_message"]["tool_calls"]:
        assert "<function" not in shown and "(" not in shown and "{" not in shown
    else:
        assert once["completion_message"]["content"] == text
    if not offered:
        assert once["completion_message"]["content"] == text


def events_of(*texts: str, offered: frozenset[str] = OFFERED, first: int = 5) -> list[dict[str, Any]]:
    stream = a_stream(offered)
    found = [event for text in texts for event in stream.feed(choice(text, token_ids=[first]))]
    found += stream.feed(choice("", finish_reason="stop", stop_reason=EOT))
    return [event["event"] for event in found + stream.end(complete=True)]


def test_plain_words_pass_as_they_come() -> None:
    found = events_of("Pa", "ris", " is")
    assert [event["delta"] for event in found[1:-1]] == [{"type": "text", "text": one} for one in ("Pa", "ris", " is")]
    assert found[-1]["stop_reason"] == "end_of_turn"


def test_all_calls_are_told_each_started_and_succeeded_and_end_the_message() -> None:
    found = events_of("[f(a", "=1), g()]")
    told = [(event["delta"]["parse_status"], event["delta"]["tool_call"]) for event in found[1:-1]]
    assert [status for status, _ in told] == [
        "started",
        "in_progress",
        "succeeded",
        "started",
        "in_progress",
        "succeeded",
    ]
    assert [call["tool_name"] for _, call in told if isinstance(call, dict)] == ["f", "g"]
    assert [call["arguments"] for _, call in told if isinstance(call, dict)] == [{"a": 1}, {}]
    assert found[-1]["stop_reason"] == "end_of_message"


def test_the_call_of_a_tool_that_was_not_offered_is_told_as_failed_beside_one_that_was() -> None:
    found = events_of("[f(a=1), rm()]")
    told = [(event["delta"]["parse_status"], event["delta"]["tool_call"]) for event in found[1:-1]]
    assert told[-1] == ("failed", '{"name": "rm", "arguments": {}}')


def test_a_tagged_answer_is_code_and_never_text() -> None:
    found = events_of("print", "(1)", first=TAG)
    assert {event["delta"]["type"] for event in found[1:-1]} == {"tool_call"}
    call = found[-2]["delta"]["tool_call"]
    assert (call["tool_name"], call["arguments"]) == ("code_interpreter", {"code": "print(1)"})


def test_half_of_a_program_is_text() -> None:
    stream = a_stream()
    events = stream.feed(choice("print(", token_ids=[TAG], finish_reason="length")) + stream.end(complete=True)
    message = chat.joined(events)["completion_message"]
    assert (message["content"], message["tool_calls"], message["stop_reason"]) == ("print(", [], "out_of_tokens")


@pytest.mark.parametrize("finish", ["abort", "error"])
def test_an_answer_that_was_broken_off_is_an_error(finish: str) -> None:
    stream = a_stream()
    stream.feed(choice("[f(", finish_reason=finish))
    with pytest.raises(Refused):
        stream.end(complete=True)


def test_a_stream_without_an_end_is_an_error() -> None:
    stream = a_stream()
    stream.feed(choice("Par"))
    with pytest.raises(Refused, match="broke off"):
        stream.end(complete=False)
