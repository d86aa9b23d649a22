"""The engine's stream may be cut anywhere."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from arriero_runtime.engine.protocol import Message
from arriero_runtime.native import completion
from arriero_runtime.native.inner import Answer
from arriero_runtime.native.streaming import EventStream, Reply
from tests.runtime.native.played import COUNT, text_piece

EVENTS = [text_piece("Pä"), text_piece("ris: \n\n"), text_piece("", "stop"), COUNT]
BYTES = b": ping\n\n" + b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in EVENTS) + b"data: [DONE]\n\n"


def begun() -> Answer:
    """A stream of the engine's, whose head has come."""
    return Answer(200, streams=True)


def some(data: bytes) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": True}


async def answered(pieces: list[bytes]) -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    stream = EventStream(completion.Stream(frozenset()), Reply(send), begun(), lambda: [(b"x-request-id", b"abc")])
    for piece in pieces:
        await stream.send(some(piece))
    await stream.close()
    return sent


@given(st.lists(st.integers(0, len(BYTES)), max_size=8))
async def test_events_are_the_same_however_their_bytes_arrive(cuts: list[int]) -> None:
    at = sorted(cuts)
    sent = await answered([BYTES[a:b] for a, b in zip([0, *at], [*at, len(BYTES)], strict=True)])
    assert (b"x-request-id", b"abc") in sent[0]["headers"]
    assert not sent[-1].get("more_body", False)
    body = b"".join(message["body"] for message in sent[1:])
    data = [line for line in body.decode().split("\n\n") if line.startswith("data:")]
    chunks: list[dict[str, Any]] = [json.loads(line.removeprefix("data:")) for line in data]
    assert [chunk["delta"] for chunk in chunks] == ["Pä", "ris: \n\n", ""]
    assert b": ping\n\n" in body
    assert b"[DONE]" not in body


async def test_the_answer_ends_with_the_engines_end_mark_and_does_not_wait_for_the_applications_end() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    stream = EventStream(completion.Stream(frozenset()), Reply(send), begun(), lambda: [])
    await stream.send(some(f"data: {json.dumps(text_piece('Paris', 'stop'))}\n\n".encode()))
    assert sent[-1]["more_body"]
    await stream.send(some(b"data: [DONE]\n\n"))
    before_the_end = len(sent)
    assert not sent[-1].get("more_body", False)
    assert b"end_of_turn" in sent[-1]["body"]
    await stream.send(some(b""))
    await stream.close()
    assert len(sent) == before_the_end


async def test_an_error_before_any_text_is_the_whole_answer_and_the_only_one() -> None:
    error = {"error": {"message": "no", "code": 400}}
    sent = await answered([f"data: {json.dumps(error)}\n\n".encode(), b": ping\n\n", b"data: [DONE]\n\n"])
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert sent[0]["status"] == 400
