"""In which order vLLM's application looks for the route of a request. It does so twice for each, once for its metrics,
and tries the patterns of all routes that come before."""

from typing import Any, Final

FIRST: Final = ("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings")
"""What is asked most. No pattern of another route fits these paths."""


def put_first(app: Any) -> None:
    """Those routes before all others, which stay in their order."""
    app.router.routes.sort(key=_rank)


def _rank(route: Any) -> int:
    path = getattr(route, "path", "")
    return FIRST.index(path) if path in FIRST else len(FIRST)
