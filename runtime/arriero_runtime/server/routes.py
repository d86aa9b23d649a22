"""The allow-list of port 8080. What is not here is 404, whatever the engine's own application has.

Kept out on purpose: /invocations, /scale_elastic_ep, adapter loading, render and development routes, interactive docs.
"""

from enum import Enum
from typing import Final


class Kind(Enum):
    """How a request is treated."""

    HEALTH = "answered here"
    METRICS = "answered by the engine's application as soon as there is one"
    LISTING = "answered by the engine's application while the model serves"
    WORK = "as LISTING, and counted, bounded in time, and ended at a drain"


ROUTES: Final[dict[str, dict[str, Kind]]] = {
    "/health": {"GET": Kind.HEALTH},
    "/metrics": {"GET": Kind.METRICS},
    "/version": {"GET": Kind.METRICS},
    "/v1/models": {"GET": Kind.LISTING},
    "/v1/chat/completions": {"POST": Kind.WORK},
    "/v1/completions": {"POST": Kind.WORK},
    "/v1/responses": {"POST": Kind.WORK},
    "/v1/embeddings": {"POST": Kind.WORK},
    "/tokenize": {"POST": Kind.WORK},
    "/detokenize": {"POST": Kind.WORK},
}
"""Path → method → kind."""

MAX_BODY_BYTES: Final = 64 * 1024 * 1024
"""Large enough for images in a chat request."""
