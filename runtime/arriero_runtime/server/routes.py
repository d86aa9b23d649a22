"""The allow-list of port 8080. What is not here is 404, whatever the engine's own application has.

Kept out on purpose: what changes the engine or looks into it (/scale_elastic_ep, adapter loading, profiling,
development routes), other ways to the same answers (/invocations, /ping, render and derender routes, /inference/v1),
interactive docs, and what no client is promised (/v1/chat/completions/batch, /generative_scoring, /v1/systemone, stored
responses, audio). `tests/runtime/openai/vllm_lists.json` records what the engine has.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from arriero_runtime.engine.protocol import AsgiApp, Receive, Scope, Send
from arriero_runtime.server import answers
from arriero_runtime.server.answers import Voice

CHAT: Final = "/v1/chat/completions"
COMPLETIONS: Final = "/v1/completions"
RESPONSES: Final = "/v1/responses"
EMBEDDINGS: Final = "/v1/embeddings"
MODELS: Final = "/v1/models"
MESSAGES: Final = "/v1/messages"
"""Of another API, whose errors have a form of their own."""
COUNT_TOKENS: Final = f"{MESSAGES}/count_tokens"
EMBED: Final = "/v2/embed"
"""As Cohere has it."""
_COHERE: Final = "/v2/"
TOKENIZE: Final = "/tokenize"
DETOKENIZE: Final = "/detokenize"
INFERENCE: Final = "/v1/inference"
PROVIDERS: Final = "/v1/providers"
"""Llama Stack's own routes begin so."""
OPENAI_PREFIX: Final = "/v1/openai"
"""Below which Llama Stack has the OpenAI API."""

OPEN: Final = frozenset({"/health", "/v1/health", "/metrics"})
"""Paths that need no API key: probes and scrapers have none, and nothing of a request or an answer is told there."""


class Kind(Enum):
    """How a request is treated."""

    HEALTH = "answered here"
    HERE = "answered here by the route's own handler, in every phase"
    METRICS = "answered by the engine's application as soon as there is one"
    DOCUMENT = "answered here with what the engine's application tells of itself"
    LISTING = "answered by the engine's application while the model serves"
    WORK = "as LISTING, and counted, bounded in time, and ended at a drain"


ROUTES: Final[dict[str, dict[str, Kind]]] = {
    "/health": {"GET": Kind.HEALTH},
    "/metrics": {"GET": Kind.METRICS},
    "/version": {"GET": Kind.METRICS},
    "/openapi.json": {"GET": Kind.DOCUMENT},
    CHAT: {"POST": Kind.WORK},
    COMPLETIONS: {"POST": Kind.WORK},
    RESPONSES: {"POST": Kind.WORK},
    EMBEDDINGS: {"POST": Kind.WORK},
    EMBED: {"POST": Kind.WORK},
    "/pooling": {"POST": Kind.WORK},
    "/classify": {"POST": Kind.WORK},
    "/score": {"POST": Kind.WORK},
    "/v1/score": {"POST": Kind.WORK},
    "/rerank": {"POST": Kind.WORK},
    "/v1/rerank": {"POST": Kind.WORK},
    "/v2/rerank": {"POST": Kind.WORK},
    MESSAGES: {"POST": Kind.WORK},
    COUNT_TOKENS: {"POST": Kind.WORK},
    TOKENIZE: {"POST": Kind.WORK},
    DETOKENIZE: {"POST": Kind.WORK},
}
"""Path → method → kind."""

_TOOLS: Final = (TOKENIZE, DETOKENIZE, COUNT_TOKENS)
ANSWERS: Final = tuple(path for path, kinds in ROUTES.items() if Kind.WORK in kinds.values() and path not in _TOOLS)
"""What a model is for; one that can answer none of these is not worth serving."""

MAX_BODY_BYTES: Final = 64 * 1024 * 1024
"""Large enough for images in a chat request."""

Here = Callable[[Scope, Receive, Send], Awaitable[None]]
Handler = Callable[[AsgiApp, Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path. `needs` is the path of the engine's application that it leans on.

    `handler` answers with the help of the engine's application; without it the application answers alone. `here` is
    for `Kind.HERE`. `voice` is how errors are told.
    """

    kind: Kind
    needs: str = ""
    handler: Handler | None = None
    here: Here | None = None
    voice: Voice = answers.OPENAI


Methods = dict[str, Route]


def voice_of(path: str) -> Voice:
    """How errors are told there, also where there is no route."""
    if path == RESPONSES:
        return answers.RESPONSES
    if path.startswith(_COHERE):
        return answers.COHERE
    return answers.MESSAGES if path == MESSAGES or path.startswith(f"{MESSAGES}/") else answers.OPENAI


_OWN: Final = (Kind.HEALTH, Kind.DOCUMENT)
"""What needs nothing of the engine's application."""
PLAIN: Final[dict[str, Methods]] = {
    path: {method: Route(kind, "" if kind in _OWN else path, voice=voice_of(path)) for method, kind in methods.items()}
    for path, methods in ROUTES.items()
}
"""Path → method → route, for what the engine's application answers alone."""
