"""The allow-list of port 8080. What is not here is 404, whatever the engine's own application has.

Kept out on purpose: /invocations, /scale_elastic_ep, adapter loading, render and development routes, interactive docs.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from arriero_runtime.engine.protocol import AsgiApp, Receive, Scope, Send
from arriero_runtime.server.answers import OPENAI, Voice


class Kind(Enum):
    """How a request is treated."""

    HEALTH = "answered here"
    HERE = "answered here by the route's own handler, in every phase"
    METRICS = "answered by the engine's application as soon as there is one"
    LISTING = "answered by the engine's application while the model serves"
    WORK = "as LISTING, and counted, bounded in time, and ended at a drain"


ROUTES: Final[dict[str, dict[str, Kind]]] = {
    "/health": {"GET": Kind.HEALTH},
    "/metrics": {"GET": Kind.METRICS},
    "/version": {"GET": Kind.METRICS},
    "/v1/chat/completions": {"POST": Kind.WORK},
    "/v1/completions": {"POST": Kind.WORK},
    "/v1/responses": {"POST": Kind.WORK},
    "/v1/embeddings": {"POST": Kind.WORK},
    "/tokenize": {"POST": Kind.WORK},
    "/detokenize": {"POST": Kind.WORK},
}
"""Path → method → kind."""

ANSWERS: Final = tuple(path for path in ROUTES if path.startswith("/v1/"))
"""What a model is for; one that can answer none of these is not worth serving."""

MAX_BODY_BYTES: Final = 64 * 1024 * 1024
"""Large enough for images in a chat request."""

Here = Callable[[Scope, Send], Awaitable[None]]
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
    voice: Voice = OPENAI


Methods = dict[str, Route]

PLAIN: Final[dict[str, Methods]] = {
    path: {method: Route(kind, path) for method, kind in methods.items()} for path, methods in ROUTES.items()
}
"""Path → method → route, for what the engine's application answers alone."""
