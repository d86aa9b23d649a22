"""What is asked of the engine's application, and the answers in Llama Stack's form."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final

from arriero_runtime.engine.protocol import Message
from arriero_runtime.native import chat, completion
from arriero_runtime.native.chatting import Payload, Way
from arriero_runtime.native.errors import Refused, from_engine, unknown_model
from arriero_runtime.native.events import Events, Translator
from arriero_runtime.native.inner import Answer, Caller
from arriero_runtime.native.streaming import EventStream, Reply
from arriero_runtime.native.text import to_json
from arriero_runtime.server import answers
from arriero_runtime.server.routes import COMPLETIONS

_STREAM: Final = {"stream": True, "stream_options": {"include_usage": True}}
_NOTE: Final = b"x-arriero-note"
Found = tuple[dict[str, Any], Answer]


async def completed(caller: Caller, payload: Payload, message_ends: frozenset[int], part: str) -> Found:
    """A CompletionResponse. Raises Refused; so do the others."""
    answer = await caller.ask("POST", COMPLETIONS, payload, part)
    return completion.whole(checked(answer, payload), message_ends), answer


async def chatted(caller: Caller, payload: Payload, way: Way, part: str) -> Found:
    """A ChatCompletionResponse."""
    if not way.streams:
        answer = await caller.ask("POST", way.path, payload, part)
        return way.whole(checked(answer, payload)), answer
    events = Events(way.stream())
    found: list[dict[str, Any]] = []
    answer = Answer()

    async def take(message: Message) -> None:
        if answer.is_event(message):
            found.extend(events.take(message.get("body", b"")))
        else:
            answer.take(message)

    await caller.follow(way.path, {**payload, **_STREAM}, take, part)
    _must_stream(answer, payload)
    found += events.close()
    if events.error is not None:
        raise events.error
    return chat.joined(found), answer


async def streamed(
    caller: Caller, path: str, payload: Payload, translator: Translator, reply: Reply, notes: Iterable[str]
) -> None:
    """Answers with a stream."""
    answer = Answer()
    stream = EventStream(translator, reply, answer, lambda: _headers(answer, notes))
    await caller.follow(path, {**payload, **_STREAM}, stream.send)
    _must_stream(answer, payload)
    await stream.close()


async def batched(questions: Sequence[Callable[[str], Awaitable[Found]]]) -> list[dict[str, Any]]:
    """All at once, answered in order. Raises Refused with every error where some fail."""
    asked = (question(f"-{number}") for number, question in enumerate(questions))
    found = await asyncio.gather(*asked, return_exceptions=True)
    refused = {number: item for number, item in enumerate(found) if isinstance(item, Refused)}
    whole: list[dict[str, Any]] = []
    for item in found:
        if isinstance(item, tuple):
            whole.append(item[0])
        elif not isinstance(item, Refused):
            raise item
    if refused:
        words = "; ".join(f"item {number}: {error}" for number, error in refused.items())
        raise Refused(max(error.status for error in refused.values()), words)
    return whole


async def answered(reply: Reply, body: object, answer: Answer | None = None, notes: Iterable[str] = ()) -> None:
    """The whole response. `notes` tell the caller what had no effect."""
    headers = _headers(answer or Answer(), notes)
    pairs = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
    await answers.reply(reply.send, 200, to_json(body), pairs)


def checked(answer: Answer, payload: Payload) -> Any:
    """The answer's JSON. Raises Refused for an error of the engine's."""
    found = answer.json
    if answer.status == 200 and isinstance(found, dict):
        return found
    if answer.status == 404:
        raise unknown_model(payload["model"])
    raise from_engine(answer.status, found)


def _must_stream(answer: Answer, payload: Payload) -> None:
    if not answer.streams:
        checked(answer, payload)
        raise Refused(500, "The engine did not stream its answer.")


def _headers(answer: Answer, notes: Iterable[str]) -> list[tuple[bytes, bytes]]:
    return [*answer.headers, *((_NOTE, note.encode("ascii")) for note in notes)]
