"""The two ways to ask a chat of the engine: by the model's own chat template, or by Llama Stack's prompts."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from arriero_runtime.native import chat, messages, sampling, tools, wire
from arriero_runtime.native.events import Translator
from arriero_runtime.native.facts import Facts
from arriero_runtime.native.formats import answer
from arriero_runtime.native.formats.llama import LlamaChat
from arriero_runtime.server.routes import CHAT, COMPLETIONS

Payload = dict[str, Any]


class Way(Protocol):
    """For one request. `path` is where the engine's application is asked, `notes` are for the caller.

    `streams`: a whole answer is put together from a stream too.
    """

    @property
    def path(self) -> str: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def streams(self) -> bool: ...

    def payload(self, item: Sequence[wire.ChatMessage], field: str) -> Payload:
        """What the chat adds to the request. Raises Refused, naming `field`."""

    def stream(self) -> Translator:
        """For one answer."""

    def whole(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """A ChatCompletionResponse. Raises Refused for an answer that was broken off."""


class ByTemplate:
    """The engine's chat route. With tools, or where a parser splits off reasoning (`reasons`), all answers are streams:
    the engine's parsers of whole answers and of streams do not always agree, on calls or thoughts that are cut off for
    example."""

    path = CHAT

    def __init__(self, request: wire.ChatOptions, message_ends: frozenset[int], *, reasons: bool) -> None:
        """Raises Refused."""
        self._request = request
        self._ends = message_ends
        self._offer = tools.offered(request)
        self.notes = self._offer.notes
        self.streams = reasons or bool(self._offer.names)

    def payload(self, item: Sequence[wire.ChatMessage], field: str) -> Payload:
        return {
            "messages": messages.translated(item, field),
            **sampling.form(self._request.response_format),
            **sampling.chat_logprobs(self._request.logprobs),
            **self._offer.payload,
        }

    def stream(self) -> chat.Stream:
        return chat.Stream(self._offer.names, self._ends)

    def whole(self, found: Mapping[str, Any]) -> dict[str, Any]:
        return chat.whole(found, self._offer.names, self._ends)


class ByPrompt:
    """The engine's route for raw completions, asked with token ids."""

    path = COMPLETIONS
    notes = ()
    streams = False

    def __init__(self, request: wire.ChatOptions, message_ends: frozenset[int], llama: LlamaChat) -> None:
        """Raises Refused."""
        self._request = request
        self._ends = message_ends
        self._llama = llama
        self._offer = tools.offered(request, prompts=True)

    def payload(self, item: Sequence[wire.ChatMessage], field: str) -> Payload:
        return {
            **self._llama.payload(self._request, self._offer, item, field),
            **sampling.completion_logprobs(self._request.logprobs),
        }

    def stream(self) -> answer.Stream:
        return self._llama.stream(self._offer.names, self._ends)

    def whole(self, found: Mapping[str, Any]) -> dict[str, Any]:
        return answer.whole(found, self.stream())


def way(request: wire.ChatOptions, facts: Facts) -> Way:
    """Raises Refused for tools that cannot be offered."""
    ends = facts.message_ends()
    if facts.llama is not None:
        return ByPrompt(request, ends, facts.llama)
    return ByTemplate(request, ends, reasons=facts.reasons)
