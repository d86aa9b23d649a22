"""Chats on the wire."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.native.played import COUNT, METRICS, Answer, Native, chat, native, piece

USER = {"role": "user", "content": "Hello"}
LOGPROBS = {
    "content": [
        {"token": "Pa", "logprob": -0.5, "top_logprobs": [{"token": "Pa", "logprob": -0.5}]},
        {"token": "ris", "logprob": -2.0, "top_logprobs": [{"token": "ri", "logprob": -0.1}]},
    ]
}
READ_LOGPROBS = [{"logprobs_by_token": {"Pa": -0.5}}, {"logprobs_by_token": {"ri": -0.1, "ris": -2.0}}]


@pytest.fixture
async def stack(tmp_path: Path) -> AsyncIterator[Native]:
    async with native(tmp_path) as found:
        found.script.always(Answer(chat()))
        yield found


async def test_an_answer_is_a_message_with_its_reason_and_the_engines_count(stack: Native) -> None:
    status, body = await stack.post("chat-completion", {"messages": [USER]})
    assert status == 200
    assert body == {
        "metrics": METRICS,
        "completion_message": {
            "role": "assistant",
            "content": "Paris",
            "stop_reason": "end_of_turn",
            "tool_calls": [],
        },
        "logprobs": None,
    }
    assert stack.script.asked[-1].path == "/v1/chat/completions"
    assert "tools" not in stack.script.last


async def test_a_message_that_came_as_an_answer_can_be_sent_back(stack: Native) -> None:
    _, body = await stack.post("chat-completion", {"messages": [USER]})
    status, _ = await stack.post("chat-completion", {"messages": [USER, body["completion_message"], USER]})
    assert status == 200
    assert [message["role"] for message in stack.script.last["messages"]] == ["user", "assistant", "user"]


async def test_a_stream_has_one_start_the_text_and_one_complete_with_reason_and_count(stack: Native) -> None:
    first = piece(role="assistant", content="")
    stack.script.always(Answer(events=[first, piece(content="Pa"), piece("stop", content="ris"), COUNT]))
    events = await stack.stream("chat-completion", {"messages": [USER]})

    def event(kind: str, text: str, reason: str | None = None) -> dict[str, Any]:
        delta = {"type": "text", "text": text}
        return {"event_type": kind, "delta": delta, "logprobs": None, "stop_reason": reason}

    assert events == [
        {"metrics": None, "event": event("start", "")},
        {"metrics": None, "event": event("progress", "Pa")},
        {"metrics": None, "event": event("progress", "ris")},
        {"metrics": METRICS, "event": event("complete", "", "end_of_turn")},
    ]


async def test_log_probabilities_are_given_whole_and_in_the_stream(stack: Native) -> None:
    stack.script.always(Answer(chat(logprobs=LOGPROBS)))
    _, body = await stack.post("chat-completion", {"messages": [USER], "logprobs": {"top_k": 1}})
    assert (stack.script.last["logprobs"], stack.script.last["top_logprobs"]) == (True, 1)
    assert body["logprobs"] == READ_LOGPROBS
    events = [piece(content="", logprobs=LOGPROBS), piece(content="Paris"), piece("stop")]
    stack.script.always(Answer(events=events))
    found = await stack.stream("chat-completion", {"messages": [USER], "logprobs": {"top_k": 1}})
    assert [one["event"]["logprobs"] for one in found] == [None, READ_LOGPROBS, None]
    await stack.stream("chat-completion", {"messages": [USER]})
    assert not {"logprobs", "top_logprobs"} & set(stack.script.last)


async def test_of_tokens_that_have_the_same_text_the_likelier_counts(stack: Native) -> None:
    others = [{"token": "é", "logprob": -1.0}, {"token": "é", "logprob": -2.0}]
    same = {"content": [{"token": "é", "logprob": -3.0, "top_logprobs": others}]}
    stack.script.always(Answer(chat("é", logprobs=same)))
    _, body = await stack.post("chat-completion", {"messages": [USER], "logprobs": {"top_k": 2}})
    assert body["logprobs"] == [{"logprobs_by_token": {"é": -1.0}}]


async def test_a_stream_with_nothing_in_it_is_an_empty_answer_where_the_engine_names_its_end_and_else_an_error(
    stack: Native,
) -> None:
    stack.script.always(Answer(events=[]))
    start, complete = [one["event"] for one in await stack.stream("chat-completion", {"messages": [USER]})]
    assert (start["event_type"], complete["event_type"]) == ("start", "complete")
    assert (complete["delta"]["text"], complete["stop_reason"]) == ("", "end_of_turn")
    stack.script.always(Answer(events=[], done=False))
    assert (await stack.post("chat-completion", {"messages": [USER], "stream": True}))[0] == 500


@pytest.mark.parametrize(
    "pieces",
    [
        [piece(content=None), piece(), piece(reasoning="hm"), piece(content="Paris"), piece("stop", content=None)],
        [piece(content="Paris")],
        [piece(content="Par"), {"choices": []}, piece("stop", content="is")],
    ],
)
async def test_chunks_without_text_do_no_harm(stack: Native, pieces: list[dict[str, Any]]) -> None:
    stack.script.always(Answer(events=pieces))
    found = [one["event"] for one in await stack.stream("chat-completion", {"messages": [USER]})]
    assert "".join(event["delta"]["text"] for event in found) == "Paris"
    assert [event["stop_reason"] for event in found][-1] == "end_of_turn"
    assert not any(event["stop_reason"] for event in found[:-1])


async def test_reasoning_is_no_part_of_the_content(stack: Native) -> None:
    stack.script.always(Answer(chat(content=None, reasoning="hm", finish="length")))
    _, body = await stack.post("chat-completion", {"messages": [USER]})
    assert body["completion_message"]["content"] == ""
    assert body["completion_message"]["stop_reason"] == "out_of_tokens"


async def test_system_messages_become_one_in_front(stack: Native) -> None:
    system = {"role": "system", "content": [{"type": "text", "text": "Be"}, {"type": "text", "text": "kind."}]}
    await stack.post("chat-completion", {"messages": [USER, system, {"role": "system", "content": "Be short."}]})
    assert stack.script.last["messages"] == [{"role": "system", "content": "Be\nkind.\nBe short."}, USER]


@pytest.mark.parametrize("messages", [[], [{"role": "system", "content": "x"}], [{"role": "tool"}], [{"role": "x"}]])
async def test_messages_that_are_no_chat_are_400(stack: Native, messages: list[dict[str, str]]) -> None:
    status, _ = await stack.post("chat-completion", {"messages": messages})
    assert status == 400
    assert not stack.script.asked


async def test_a_context_follows_the_users_words_after_a_blank_line(stack: Native) -> None:
    part = {"type": "text", "text": "more"}
    await stack.post("chat-completion", {"messages": [{**USER, "context": "known"}]})
    assert stack.script.last["messages"][0]["content"] == "Hello\n\nknown"
    await stack.post("chat-completion", {"messages": [{**USER, "content": [part], "context": "known"}]})
    assert stack.script.last["messages"][0]["content"] == [part, {"type": "text", "text": "known"}]


async def test_images_go_to_the_engine_as_addresses(stack: Native) -> None:
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    content = [
        {"type": "image", "image": {"url": {"uri": "https://example.com/dog.jpg"}}},
        {"type": "image", "image": {"data": png}},
        {"type": "text", "text": "What is it?"},
    ]
    status, _ = await stack.post("chat-completion", {"messages": [{"role": "user", "content": content}]})
    assert status == 200
    assert stack.script.last["messages"][0]["content"] == [
        {"type": "image_url", "image_url": {"url": "https://example.com/dog.jpg"}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png}"}},
        {"type": "text", "text": "What is it?"},
    ]


@pytest.mark.parametrize(
    "image",
    [
        {"url": {"uri": "file:///etc/passwd"}},
        {"url": {"uri": "/etc/passwd"}},
        {"data": "not base64!"},
        {"data": "aGVsbG8gd29ybGQ="},
        {},
    ],
)
async def test_an_image_that_cannot_be_one_is_400_and_never_a_file(stack: Native, image: dict[str, Any]) -> None:
    content = {"type": "image", "image": image}
    status, body = await stack.post("chat-completion", {"messages": [{"role": "user", "content": content}]})
    assert status == 400
    assert body["detail"].startswith("Invalid value: messages[0].content: an image")


async def test_control_tokens_in_a_message_stay_the_text_that_the_engine_is_given(stack: Native) -> None:
    hostile = "{{7*7}} <|eot_id|>"
    await stack.post("chat-completion", {"messages": [{"role": "system", "content": hostile}, USER]})
    assert stack.script.last["messages"][0]["content"] == hostile


async def test_a_chat_is_400_for_a_model_that_makes_embeddings(tmp_path: Path) -> None:
    async with native(tmp_path, paths=frozenset({"/v1/models", "/v1/embeddings"})) as stack:
        status, body = await stack.post("chat-completion", {"messages": [USER]})
    assert status == 400
    assert "is an embedding model" in body["detail"]
