"""Events that are alike are translated without being taken apart, and say the same as if they were."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from arriero_runtime.engine.protocol import Message
from arriero_runtime.native import chat, completion
from arriero_runtime.native.events import Events, Translator
from arriero_runtime.native.inner import Answer
from arriero_runtime.native.shortcut import Shortcut
from arriero_runtime.native.streaming import EventStream, Reply

FINISHES = {"finish": "stop", "cut": "length"}
LOGPROBS = {"content": [{"token": "a", "logprob": -0.5, "top_logprobs": []}]}
HEAD = {"id": "cmpl-1", "object": "chunk", "created": 1, "model": 'the "text": model', "system_fingerprint": None}
TEXTS = st.one_of(
    st.text(max_size=5), st.sampled_from(['"', "\\", '"content": "x"', '\\"text": ', "\n\n", "\x00é你🦙"])
)


def written(chunk: dict[str, Any], *, ascii_only: bool) -> bytes:
    """As the engine writes it: no spaces, and sometimes escapes for letters."""
    return f"data: {json.dumps(chunk, separators=(',', ':'), ensure_ascii=ascii_only)}\n\n".encode()


def chat_chunk(kind: str, text: str) -> dict[str, Any]:
    choice: dict[str, Any] = {"index": 0, "delta": {"content": text}, "logprobs": None, "finish_reason": None}
    if kind == "logprobs":
        choice["logprobs"] = LOGPROBS
    elif kind == "role":
        choice["delta"] = {"role": "assistant", "content": text}
    elif kind == "call":
        function = {"name": "f", "arguments": text}
        choice["delta"] = {"content": text, "tool_calls": [{"index": 0, "id": "1", "function": function}]}
    elif kind == "reasoning":
        choice["delta"] = {"reasoning": text}
    elif kind in FINISHES:
        choice |= {"finish_reason": FINISHES[kind], "stop_reason": None}
    elif kind == "usage":
        return {**HEAD, "choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}}
    elif kind == "empty":
        return {**HEAD, "choices": []}
    return {**HEAD, "choices": [choice]}


def completion_chunk(kind: str, text: str) -> dict[str, Any]:
    found = chat_chunk(kind if kind in (*FINISHES, "usage", "empty") else "text", text)
    for choice in found["choices"]:
        del choice["delta"]
        choice["text"] = text
        if kind == "logprobs":
            choice["logprobs"] = {"tokens": ["a"], "token_logprobs": [-0.5]}
    return found


KINDS = st.sampled_from(["text"] * 6 + ["logprobs", "role", "call", "reasoning", *FINISHES, "usage", "empty"])


async def sent_for(translator: Translator, events: list[bytes]) -> list[dict[str, Any]]:
    body = b""

    async def send(message: Message) -> None:
        nonlocal body
        body += message.get("body", b"")

    stream = EventStream(translator, Reply(send), Answer(200, streams=True), lambda: [])
    for event in events:
        await stream.send({"type": "http.response.body", "body": event, "more_body": True})
    await stream.close()
    return [json.loads(line.removeprefix(b"data: ")) for line in body.split(b"\n\n") if line]


def taken_apart(translator: Translator, events: list[bytes]) -> list[dict[str, Any]]:
    slow = Events(translator)
    found = [chunk for event in events for chunk in slow.take(event)]
    return [*found, *slow.close()]


def without_logprobs(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where they stand may differ: those of text without them may come with a later event."""
    shown = json.loads(json.dumps(chunks))
    for chunk in shown:
        chunk.get("event", chunk)["logprobs"] = None
    return list(shown)


def logprobs(chunks: list[dict[str, Any]]) -> list[Any]:
    return [one for chunk in chunks for one in chunk.get("event", chunk)["logprobs"] or []]


HELD_BACK = [("logprobs", ""), ("text", "Pa"), ("text", "ris"), ("finish", "")]
"""Log probabilities of text that comes later, and then more text."""
CALL_AND_TEXT = [("text", "P"), ("text", "a"), ("call", "{}"), ("text", "ris"), ("cut", "")]
"""A call that is over, as text follows it, before the room is."""


@given(st.lists(st.tuples(KINDS, TEXTS), max_size=12), st.booleans(), st.booleans())
@example(HELD_BACK, False, True)
@example(HELD_BACK, False, False)
@example(CALL_AND_TEXT, False, True)
async def test_a_stream_says_the_same_with_and_without_the_shortcut(
    parts: list[tuple[str, str]], ascii_only: bool, chats: bool
) -> None:
    make = chat_chunk if chats else completion_chunk
    events = [written(make(kind, text), ascii_only=ascii_only) for kind, text in parts] + [b"data: [DONE]\n\n"]

    def translator() -> Translator:
        return chat.Stream(frozenset({"f"}), frozenset()) if chats else completion.Stream(frozenset())

    fast, slow = await sent_for(translator(), events), taken_apart(translator(), events)
    assert without_logprobs(fast) == without_logprobs(slow)
    assert logprobs(fast) == logprobs(slow)


def test_the_shortcut_is_taken_for_events_that_are_alike_and_for_no_others() -> None:
    shortcut = Shortcut()
    event = written(chat_chunk("text", "Pa"), ascii_only=False)
    assert shortcut.of(event) is None
    shortcut.learn(event, b'data: {"delta": {"type": "text", "text": "Pa"}}\n\n')
    assert shortcut.of(event.replace(b"Pa", b"ris")) == b'data: {"delta": {"type": "text", "text": "ris"}}\n\n'
    assert shortcut.of(event.replace(b'"Pa"', b'""')) == b""
    assert shortcut.of(event.replace(b'"Pa"', b'"Pa","more":"x"')) is None
    assert shortcut.of(event.replace(b"null", b'"stop"')) is None
