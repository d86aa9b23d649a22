"""A streamed answer and a whole one say the same, whatever the engine answers and wherever it cuts its stream."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from arriero_runtime.native import chat, completion
from arriero_runtime.native.errors import Refused

ENDS = frozenset({128008})
OFFERED = frozenset({"f", "get_weather"})
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
finishes = st.sampled_from(["stop", "length", "tool_calls", "repetition"])
stops = st.sampled_from([None, 128008, 128009, "1963"])
numbers = st.floats(-50, 0)
texts = st.lists(st.text(max_size=4), max_size=6)
arguments = st.one_of(
    st.dictionaries(st.text(max_size=3), st.one_of(st.integers(), st.text(max_size=3), st.none()), max_size=3).map(
        json.dumps
    ),
    st.sampled_from(["", "{}", "{", "[1]", "null", '{"a": {"b": [1, {"c": "}"}]}}']),
)
calls = st.lists(st.tuples(st.sampled_from(["f", "get_weather", "rm"]), arguments), max_size=3)


def pieces_of(text: str, draw: st.DataObject) -> list[str]:
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(text)), max_size=3)))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def call_chunks(found: list[tuple[str, str]], draw: st.DataObject) -> list[dict[str, Any]]:
    """The calls one after the other, or mixed."""
    queues: list[list[dict[str, Any]]] = []
    for number, (name, text) in enumerate(found):
        head = {"index": number, "id": f"c{number}", "type": "function", "function": {"name": name, "arguments": ""}}
        rest = [{"index": number, "function": {"arguments": part}} for part in pieces_of(text, draw)]
        queues.append([head, *rest])
    mixed = draw.draw(st.booleans())
    order: list[dict[str, Any]] = [queue.pop(0) for queue in queues] if mixed else []
    while queues := [queue for queue in queues if queue]:
        at = draw.draw(st.integers(0, len(queues) - 1)) if mixed else 0
        order.append(queues[at].pop(0))
    return order


def logprob(draw: st.DataObject) -> dict[str, Any]:
    alternatives = [{"token": token, "logprob": draw.draw(numbers)} for token in ("a", "b")]
    return {"token": "a", "logprob": draw.draw(numbers), "top_logprobs": alternatives}


def chunk(delta: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, **more}]}


@given(texts, calls, finishes, stops, st.booleans(), st.data())
def test_a_chat_says_the_same_both_ways(
    words: list[str],
    found: list[tuple[str, str]],
    finish: str,
    stop: int | str | None,
    with_logprobs: bool,
    draw: st.DataObject,
) -> None:
    values = [[logprob(draw)] for _ in words]
    message = {
        "content": "".join(words) or None,
        "tool_calls": [
            {"id": f"c{n}", "function": {"name": name, "arguments": text}} for n, (name, text) in enumerate(found)
        ],
    }
    logprobs = {"content": [one for value in values for one in value]} if with_logprobs else None
    choice = {"message": message, "finish_reason": finish, "stop_reason": stop, "logprobs": logprobs}
    whole = chat.whole({"choices": [choice], "usage": USAGE}, OFFERED, ENDS)

    chunks = [chunk({"role": "assistant", "content": ""})]
    for word, value in zip(words, values, strict=True):
        chunks.append(chunk({"content": word}, logprobs={"content": value} if with_logprobs else None))
    chunks += [chunk({"tool_calls": [piece]}) for piece in call_chunks(found, draw)]
    chunks += [chunk({}, finish_reason=finish, stop_reason=stop), {"choices": [], "usage": USAGE}]
    stream = chat.Stream(OFFERED, ENDS)
    events = [event for one in chunks for event in stream.feed(one)] + stream.end(complete=True)
    assert joined(events) == whole
    assert chat.joined(events) == whole


def joined(events: list[dict[str, Any]]) -> dict[str, Any]:
    """What a client puts together from a stream; checks the order of events on the way."""
    kinds = [one["event"]["event_type"] for one in events]
    assert kinds == ["start", *["progress"] * (len(kinds) - 2), "complete"]
    deltas = [one["event"]["delta"] for one in events]
    called = [delta for delta in deltas if delta["type"] == "tool_call"]
    failed = "".join(delta["tool_call"] for delta in called if delta["parse_status"] == "failed")
    last = events[-1]
    assert not any(one["event"]["stop_reason"] or one["metrics"] for one in events[:-1])
    return {
        "metrics": last["metrics"],
        "completion_message": {
            "role": "assistant",
            "content": "".join(delta["text"] for delta in deltas if delta["type"] == "text") + failed,
            "stop_reason": last["event"]["stop_reason"],
            "tool_calls": [delta["tool_call"] for delta in called if delta["parse_status"] == "succeeded"],
        },
        "logprobs": [value for one in events for value in one["event"]["logprobs"] or []] or None,
    }


@given(texts, finishes, stops, st.booleans(), st.data())
def test_a_completion_says_the_same_both_ways(
    words: list[str], finish: str, stop: int | str | None, with_logprobs: bool, draw: st.DataObject
) -> None:
    values = [draw.draw(numbers) for _ in words]
    ranked = [{"a": draw.draw(numbers), word: value} for word, value in zip(words, values, strict=True)]
    everything = {"tokens": words, "token_logprobs": values, "top_logprobs": ranked}
    logprobs = everything if with_logprobs else None
    choice = {"text": "".join(words), "finish_reason": finish, "stop_reason": stop, "logprobs": logprobs}
    whole = completion.whole({"choices": [choice], "usage": USAGE}, ENDS)

    stream = completion.Stream(ENDS)
    events: list[dict[str, Any]] = []
    for word, value, rank in zip(words, values, ranked, strict=True):
        one = {"tokens": [word], "token_logprobs": [value], "top_logprobs": [rank]}
        events += stream.feed({"choices": [{"text": word, "logprobs": one if with_logprobs else None}]})
    last = {"text": "", "finish_reason": finish, "stop_reason": stop}
    events += stream.feed({"choices": [last]}) + stream.feed({"choices": [], "usage": USAGE})
    events += stream.end(complete=True)
    assert all(event["delta"] for event in events[:-1])
    assert whole == {
        "metrics": events[-1]["metrics"],
        "content": "".join(event["delta"] for event in events),
        "stop_reason": events[-1]["stop_reason"],
        "logprobs": [value for event in events for value in event["logprobs"] or []] or None,
    }


@given(st.sampled_from(["abort", "error"]), st.booleans())
def test_an_answer_that_was_broken_off_is_an_error_both_ways(finish: str, complete: bool) -> None:
    for stream, kind in ((chat.Stream(OFFERED, ENDS), "delta"), (completion.Stream(ENDS), "text")):
        stream.feed({"choices": [{kind: {} if kind == "delta" else "", "finish_reason": finish}]})
        try:
            stream.end(complete=complete)
        except Refused as error:
            assert error.status >= 500
        else:
            raise AssertionError("not refused")
