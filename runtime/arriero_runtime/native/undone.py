"""Streams without `data: [DONE]`: Llama Stack's clients before 0.7 take every event for JSON and break on it."""

import re
from typing import Final

from arriero_runtime.engine.protocol import AsgiApp, Message, Receive, Scope, Send
from arriero_runtime.server.routes import OPENAI_PREFIX

_HEADER: Final = b"x-llamastack-client-version"
_READS_DONE: Final = (0, 7)
_DONE: Final = b"data: [DONE]\n\n"


def cannot_read_done(scope: Scope) -> bool:
    """Whether the client says that it is an old one of Llama Stack."""
    for name, value in scope["headers"]:
        if name == _HEADER:
            found = re.match(rb"(\d+)\.(\d+)", value)
            return found is not None and (int(found[1]), int(found[2])) < _READS_DONE
    return False


async def without_done(app: AsgiApp, scope: Scope, receive: Receive, send: Send) -> None:
    """The application's answer, less the end mark of its stream. A path below /v1/openai is that of the OpenAI API."""
    path = scope["path"].removeprefix(OPENAI_PREFIX)

    async def trimmed(message: Message) -> None:
        # The mark is an event of its own: inside of another one a line's end is always escaped.
        if message["type"] == "http.response.body" and message.get("body", b"").endswith(_DONE):
            message = {**message, "body": message["body"].removesuffix(_DONE)}
        await send(message)

    await app({**scope, "path": path, "raw_path": path.encode()}, receive, trimmed)
