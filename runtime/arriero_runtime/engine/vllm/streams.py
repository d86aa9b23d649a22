"""Streams of vLLM's application, straight from its generators to the server.

Each part of the application wraps the way of an answer, though none of them looks at more than its head; and a group of
tasks stands by for each stream. What wakes for every token should be one task with few calls.
"""

import asyncio
import importlib
from collections.abc import AsyncGenerator
from typing import Any, Final

from fastapi.responses import StreamingResponse

from arriero_runtime.engine.protocol import STRAIGHT, Receive, Scope, Send

_ROUTES: Final = ("openai.chat_completion", "openai.completion", "openai.responses", "anthropic")
"""Packages of vLLM's routes that answer with streams."""
HEADS_ONLY: Final = frozenset(
    {
        "AuthenticationMiddleware",
        "CORSMiddleware",
        "PrometheusInstrumentatorMiddleware",
        "ScalingMiddleware",
        "WebSocketMetricsMiddleware",
        "XRequestIdMiddleware",
    }
)
"""Parts of the application that leave a stream's events as they are."""


def straighten(app: Any) -> None:
    """For all requests from now on; another part of the application that may want to see events gets them. Raises
    RuntimeError where vLLM streams in another way."""
    heads_only = {part.cls.__name__ for part in app.user_middleware} <= HEADS_ONLY
    for name in _ROUTES:
        module = importlib.import_module(f"vllm.entrypoints.{name}.api_router")
        if not issubclass(vars(module).get("StreamingResponse", object), StreamingResponse):
            raise RuntimeError(f"vLLM's {name} streams in another way")
        vars(module)["StreamingResponse"] = Straight if heads_only else Closed


class Closed(StreamingResponse):
    """As its parent, but its generator ends with it, however that is: one that is left between two events keeps the
    engine at work until the garbage collector finds it, or until the answer nobody gets is whole."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The generator is closed when all is sent, or nothing more will be."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._close()

    async def _close(self) -> None:
        if isinstance(self.body_iterator, AsyncGenerator):
            await self.body_iterator.aclose()


class Straight(Closed):
    """As its parent, but for the way that events take where the server offers one."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """When the client leaves, the generator is cancelled, and nothing is raised."""
        straight: Send | None = scope.get(STRAIGHT)
        if straight is None:
            await super().__call__(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        # A task of its own: its calls are few, where all parts of the application wait for this one.
        streaming = asyncio.ensure_future(self._stream(straight))
        leaving = asyncio.ensure_future(self.listen_for_disconnect(receive))
        try:
            await asyncio.wait({streaming, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            streaming.cancel()
        if not streaming.done():
            await asyncio.wait({streaming})
        try:
            if not streaming.cancelled():
                streaming.result()
        finally:
            # It holds its error, which holds this frame: all of the request would be left to the garbage collector.
            del streaming
        if self.background is not None:
            await self.background()

    async def _stream(self, send: Send) -> None:
        try:
            async for chunk in self.body_iterator:
                data = chunk.encode() if isinstance(chunk, str) else chunk
                await send({"type": "http.response.body", "body": data, "more_body": True})
        finally:
            await self._close()
        await send({"type": "http.response.body", "body": b"", "more_body": False})
