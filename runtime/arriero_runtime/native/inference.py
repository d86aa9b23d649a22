"""/v1/inference/*: each request is translated, asked of the engine's application, and its answer translated back."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from arriero_runtime.engine.protocol import AsgiApp, Receive, Scope, Send
from arriero_runtime.native import asking, chatting, completion, content, embeddings, sampling, wire
from arriero_runtime.native.chatting import Payload
from arriero_runtime.native.errors import NATIVE, BadBody, Refused, invalid
from arriero_runtime.native.facts import Facts
from arriero_runtime.native.inner import Caller, ClientGone
from arriero_runtime.native.streaming import Reply
from arriero_runtime.server import answers, grammars
from arriero_runtime.server.routes import CHAT, COMPLETIONS, EMBEDDINGS

_HERE: Final = {"structured_outputs": "response_format"}
"""A parameter of the engine's → the one of these routes."""
log = logging.getLogger(__name__)


class Inference:
    """The handlers."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    async def completion(self, app: AsgiApp, scope: Scope, receive: Receive, send: Send) -> None:
        """One raw completion, whole or streamed."""

        async def work(caller: Caller, reply: Reply) -> None:
            request = wire.parse(wire.Completion, await caller.body())
            payload = self._completion_payload(request, request.content, "content")
            ends = self._facts.message_ends()
            if request.stream:
                await asking.streamed(caller, COMPLETIONS, payload, completion.Stream(ends), reply, ())
            else:
                found, answer = await asking.completed(caller, payload, ends, "")
                await asking.answered(reply, found, answer)

        await _guarded(app, scope, receive, send, work)

    async def chat_completion(self, app: AsgiApp, scope: Scope, receive: Receive, send: Send) -> None:
        """One answer of a chat, whole or streamed."""

        async def work(caller: Caller, reply: Reply) -> None:
            request = wire.parse(wire.ChatCompletion, await caller.body())
            way = self._way(request)
            payload = self._chat_payload(request, request.messages, "messages", way)
            if request.stream:
                await asking.streamed(caller, way.path, payload, way.stream(), reply, way.notes)
            else:
                found, answer = await asking.chatted(caller, payload, way, "")
                await asking.answered(reply, found, answer, way.notes)

        await _guarded(app, scope, receive, send, work)

    async def batch_completion(self, app: AsgiApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Many raw completions at once."""

        async def work(caller: Caller, reply: Reply) -> None:
            request = wire.parse(wire.BatchCompletion, await caller.body())
            payloads = [
                self._completion_payload(request, item, f"content_batch[{number}]")
                for number, item in enumerate(request.content_batch)
            ]
            ends = self._facts.message_ends()
            caller.several()
            found = await asking.batched([partial(asking.completed, caller, one, ends) for one in payloads])
            await asking.answered(reply, {"batch": found})

        await _guarded(app, scope, receive, send, work)

    async def batch_chat_completion(self, app: AsgiApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers of many chats at once."""

        async def work(caller: Caller, reply: Reply) -> None:
            request = wire.parse(wire.BatchChatCompletion, await caller.body())
            way = self._way(request)
            payloads = [
                self._chat_payload(request, item, f"messages_batch[{number}]", way)
                for number, item in enumerate(request.messages_batch)
            ]
            caller.several()
            found = await asking.batched([partial(asking.chatted, caller, one, way) for one in payloads])
            await asking.answered(reply, {"batch": found}, None, way.notes)

        await _guarded(app, scope, receive, send, work)

    async def embeddings(self, app: AsgiApp, scope: Scope, receive: Receive, send: Send) -> None:
        """One vector per content."""

        async def work(caller: Caller, reply: Reply) -> None:
            request = wire.parse(wire.Embeddings, await caller.body())
            self._must_have(EMBEDDINGS, request.model_id)
            payload = embeddings.payload(request, self._facts.served_name(request.model_id))
            answer = await caller.ask("POST", EMBEDDINGS, payload)
            await asking.answered(reply, embeddings.whole(asking.checked(answer, payload)), answer)

        await _guarded(app, scope, receive, send, work)

    def _completion_payload(self, request: wire.Common, item: wire.Content, field: str) -> Payload:
        self._must_have(COMPLETIONS, request.model_id)
        return _bounded(
            {
                "model": self._facts.served_name(request.model_id),
                "prompt": content.text(item, field, ""),
                **sampling.chosen(request.sampling_params),
                **sampling.form(request.response_format),
                **sampling.completion_logprobs(request.logprobs),
            }
        )

    def _way(self, request: wire.ChatOptions) -> chatting.Way:
        self._must_have(CHAT, request.model_id)
        return chatting.way(request, self._facts)

    def _chat_payload(
        self, request: wire.ChatOptions, item: Sequence[wire.ChatMessage], field: str, way: chatting.Way
    ) -> Payload:
        return _bounded(
            {
                "model": self._facts.served_name(request.model_id),
                **sampling.chosen(request.sampling_params),
                **way.payload(item, field),
            }
        )

    def _must_have(self, path: str, name: str) -> None:
        if path not in self._facts.paths():
            kind = "an embedding model" if self._facts.embeds else "not an embedding model"
            raise invalid("model_id", f"'{name}' is {kind} and cannot answer this route")


def _bounded(payload: Payload) -> Payload:
    """Raises Refused for a constraint that the engine's compiler of grammars should not see."""
    if fault := grammars.fault(payload):
        where, words = fault
        raise invalid(_HERE.get(where, where), words)
    return payload


async def _guarded(
    app: AsgiApp, scope: Scope, receive: Receive, send: Send, work: Callable[[Caller, Reply], Awaitable[None]]
) -> None:
    """Errors in Llama Stack's form; silence for a client that has left. Raises what nobody expects in the middle."""
    reply = Reply(send)
    async with Caller(app, scope, receive) as caller:
        try:
            await work(caller, reply)
        except BadBody as error:
            await answers.reply(send, 400, error.body)
        except Refused as error:
            await error.refusal.send(send, NATIVE)
        except ClientGone:
            pass
        except Exception:
            if reply.begun:
                raise
            log.exception("%s failed", scope["path"])
            await Refused(500, "Internal server error: An unexpected error occurred.").refusal.send(send, NATIVE)
