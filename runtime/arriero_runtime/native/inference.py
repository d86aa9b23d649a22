"""/v1/inference/*: each request is translated, asked of the engine's application, and its answer translated back."""

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from arriero_runtime.engine.protocol import AsgiApp, Receive, Scope, Send
from arriero_runtime.native import chat, completion, content, embeddings, messages, sampling, tools, wire
from arriero_runtime.native.errors import NATIVE, BadBody, Refused, from_engine, invalid, unknown_model
from arriero_runtime.native.facts import Facts
from arriero_runtime.native.inner import Answer, Caller, ClientGone
from arriero_runtime.native.streaming import EventStream, Translator
from arriero_runtime.server.answers import reply

_CHAT: Final = "/v1/chat/completions"
_COMPLETION: Final = "/v1/completions"
_EMBEDDINGS: Final = "/v1/embeddings"
_STREAM: Final = {"stream": True, "stream_options": {"include_usage": True}}
_NOTE: Final = b"x-arriero-note"
Payload = dict[str, Any]
Whole = Callable[[Any], dict[str, Any]]


class Inference:
    """The handlers."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    async def completion(self, app: AsgiApp, scope: Scope, receive: Receive, send: Send) -> None:
        """One raw completion, whole or streamed."""

        async def work(caller: Caller) -> None:
            request = wire.parse(wire.Completion, await caller.body())
            payload = self._completion_payload(request, request.content, "content")
            ends = self._facts.message_ends()
            if request.stream:
                await self._stream(caller, _COMPLETION, payload, completion.Stream(ends), send, ())
            else:
                whole = partial(completion.whole, message_ends=ends)
                await self._answer(caller, _COMPLETION, payload, whole, send, ())

        await _guarded(app, scope, receive, send, work)

    async def chat_completion(self, app: AsgiApp, scope: Scope, receive: Receive, send: Send) -> None:
        """One answer of a chat, whole or streamed."""

        async def work(caller: Caller) -> None:
            request = wire.parse(wire.ChatCompletion, await caller.body())
            offer = tools.offered(request)
            payload = self._chat_payload(request, request.messages, "messages", offer)
            ends = self._facts.message_ends()
            if request.stream:
                await self._stream(caller, _CHAT, payload, chat.Stream(offer.names, ends), send, offer.notes)
            else:
                whole = partial(chat.whole, offered=offer.names, message_ends=ends)
                await self._answer(caller, _CHAT, payload, whole, send, offer.notes)

        await _guarded(app, scope, receive, send, work)

    async def batch_completion(self, app: AsgiApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Many raw completions at once."""

        async def work(caller: Caller) -> None:
            request = wire.parse(wire.BatchCompletion, await caller.body())
            payloads = [
                self._completion_payload(request, item, f"content_batch[{number}]")
                for number, item in enumerate(request.content_batch)
            ]
            whole = partial(completion.whole, message_ends=self._facts.message_ends())
            await self._batch(caller, _COMPLETION, payloads, whole, send, ())

        await _guarded(app, scope, receive, send, work)

    async def batch_chat_completion(self, app: AsgiApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers of many chats at once."""

        async def work(caller: Caller) -> None:
            request = wire.parse(wire.BatchChatCompletion, await caller.body())
            offer = tools.offered(request)
            payloads = [
                self._chat_payload(request, item, f"messages_batch[{number}]", offer)
                for number, item in enumerate(request.messages_batch)
            ]
            whole = partial(chat.whole, offered=offer.names, message_ends=self._facts.message_ends())
            await self._batch(caller, _CHAT, payloads, whole, send, offer.notes)

        await _guarded(app, scope, receive, send, work)

    async def embeddings(self, app: AsgiApp, scope: Scope, receive: Receive, send: Send) -> None:
        """One vector per content."""

        async def work(caller: Caller) -> None:
            request = wire.parse(wire.Embeddings, await caller.body())
            self._must_have(_EMBEDDINGS, request.model_id)
            payload = embeddings.payload(request, self._facts.served_name(request.model_id))
            await self._answer(caller, _EMBEDDINGS, payload, embeddings.whole, send, ())

        await _guarded(app, scope, receive, send, work)

    def _completion_payload(self, request: wire.Common, item: wire.Content, field: str) -> Payload:
        self._must_have(_COMPLETION, request.model_id)
        return {
            "model": self._facts.served_name(request.model_id),
            "prompt": content.text(item, field, ""),
            **sampling.chosen(request.sampling_params),
            **sampling.form(request.response_format),
            **sampling.completion_logprobs(request.logprobs),
        }

    def _chat_payload(
        self, request: wire.ChatOptions, item: Sequence[wire.ChatMessage], field: str, offer: tools.Offer
    ) -> Payload:
        self._must_have(_CHAT, request.model_id)
        return {
            "model": self._facts.served_name(request.model_id),
            "messages": messages.translated(item, field),
            **sampling.chosen(request.sampling_params),
            **sampling.form(request.response_format),
            **sampling.chat_logprobs(request.logprobs),
            **offer.payload,
        }

    def _must_have(self, path: str, name: str) -> None:
        if path not in self._facts.paths():
            kind = "an embedding model" if self._facts.embeds else "not an embedding model"
            raise invalid("model_id", f"'{name}' is {kind} and cannot answer this route")

    async def _answer(
        self, caller: Caller, path: str, payload: Payload, whole: Whole, send: Send, notes: Iterable[str]
    ) -> None:
        answer = await caller.ask("POST", path, payload)
        found = whole(_checked(answer, payload))
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in _headers(answer, notes)}
        await reply(send, 200, json.dumps(found, ensure_ascii=False), headers)

    async def _stream(
        self, caller: Caller, path: str, payload: Payload, translator: Translator, send: Send, notes: Iterable[str]
    ) -> None:
        stream = EventStream(translator, send, _headers(Answer(), notes))
        answer = await caller.follow(path, {**payload, **_STREAM}, stream.take)
        if answer.status == 200 and answer.stream:
            await stream.close()
        else:
            _checked(answer, payload)
            raise Refused(500, "The engine did not stream its answer.")

    async def _batch(
        self,
        caller: Caller,
        path: str,
        payloads: Sequence[Payload],
        whole: Whole,
        send: Send,
        notes: Iterable[str],
    ) -> None:
        """All at once, answered in order; where some fail, the error tells of each."""

        async def one(number: int, payload: Payload) -> dict[str, Any] | Refused:
            try:
                return whole(_checked(await caller.ask("POST", path, payload, f"-{number}"), payload))
            except Refused as error:
                return error

        found = await asyncio.gather(*(one(number, payload) for number, payload in enumerate(payloads)))
        errors = {number: item for number, item in enumerate(found) if isinstance(item, Refused)}
        if errors:
            words = "; ".join(f"item {number}: {error}" for number, error in errors.items())
            raise Refused(max(error.status for error in errors.values()), words)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in _headers(Answer(), notes)}
        await reply(send, 200, json.dumps({"batch": found}, ensure_ascii=False), headers)


def _headers(answer: Answer, notes: Iterable[str]) -> list[tuple[bytes, bytes]]:
    return [*answer.headers, *((_NOTE, note.encode("ascii")) for note in notes)]


def _checked(answer: Answer, payload: Payload) -> Any:
    """The answer's JSON. Raises Refused for an error of the engine's."""
    found = answer.json
    if answer.status == 200 and isinstance(found, dict):
        return found
    if answer.status == 404:
        raise unknown_model(payload["model"])
    raise from_engine(answer.status, found)


async def _guarded(app: AsgiApp, scope: Scope, receive: Receive, send: Send, work: Callable[[Caller], Any]) -> None:
    """Errors in Llama Stack's form; silence for a client that has left."""
    async with Caller(app, scope, receive) as caller:
        try:
            await work(caller)
        except BadBody as error:
            await reply(send, 400, error.body)
        except Refused as error:
            await error.refusal.send(send, NATIVE)
        except ClientGone:
            pass
