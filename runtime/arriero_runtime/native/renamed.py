"""The OpenAI API as Llama Stack's clients use it: the model by any of its names."""

import json
import re
from typing import Any, Final

from arriero_runtime.engine.protocol import AsgiApp, Message, Receive, Scope, Send
from arriero_runtime.native.facts import Facts
from arriero_runtime.native.undone import without_done

_MODEL: Final = re.compile(rb'"model"\s*:\s*("(?:[^"\\]|\\.)*")')
"""Also further inside; of those that are, one is the request's own."""


class Renamed:
    """The routes of the OpenAI API below /v1/openai, and those of old clients."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    async def handle(self, app: AsgiApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Expects the whole body in one message."""

        async def renamed() -> Message:
            message = await receive()
            if message["type"] == "http.request":
                message = {**message, "body": self.body(message.get("body", b""))}
            return message

        await without_done(app, scope, renamed, send)

    def body(self, body: bytes) -> bytes:
        """The same, unless it names the model in another way than it is served by."""
        if not any(self._is_other(_read(found)) for found in _MODEL.findall(body)):
            return body
        request = _read(body)
        if not isinstance(request, dict) or not self._is_other(request.get("model")):
            return body
        return json.dumps({**request, "model": self._facts.served_name(request["model"])}).encode()

    def _is_other(self, name: Any) -> bool:
        return isinstance(name, str) and self._facts.served_name(name) != name


def _read(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
