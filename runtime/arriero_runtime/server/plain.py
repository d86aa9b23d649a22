"""What people and tools say is text: no control tokens are made of it.

Chat templates put a message's text between control tokens such as <|im_end|>, and the tokenizer finds these wherever
they stand. Whoever can write them into a message could end it, and speak as the system.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from arriero_runtime.engine.protocol import AsgiApp, Message, Receive, Scope, Send
from arriero_runtime.server import tool_forms, tool_words
from arriero_runtime.server.answers import invalid
from arriero_runtime.server.pieces import ControlTokens, Piece, pieces
from arriero_runtime.server.routes import CHAT, COUNT_TOKENS, MESSAGES, PLAIN, RESPONSES, TOKENIZE

_OWN: Final = frozenset({"system", "developer", "assistant"})
"""Roles whose text is the application's own. What all others say comes from elsewhere."""
_CHATS: Final = frozenset({CHAT, RESPONSES, MESSAGES, COUNT_TOKENS, TOKENIZE})


class Plain:
    """The application, with the control tokens in what was said put out of action. `tokens` are the model's."""

    def __init__(self, app: AsgiApp, tokens: Iterable[str]) -> None:
        self._app = app
        self._tokens = ControlTokens(tokens)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Expects the whole body in one message, as both ways to the application give it."""
        path = scope["path"]
        if path not in _CHATS:
            await self._app(scope, receive, send)
            return
        message = await receive()
        if message["type"] == "http.request":
            try:
                message["body"] = self.clean(message.get("body", b""))
            except tool_words.TokenInPlace as error:
                await invalid("tools", str(error)).send(send, PLAIN[path]["POST"].voice)
                return
            except RecursionError:
                await invalid("", "is nested too deeply").send(send, PLAIN[path]["POST"].voice)
                return
        # The body goes with its handing over: the answer may take long, and the body be large.
        first = [message]
        del message

        async def cleaned() -> Message:
            return first.pop() if first else await receive()

        await self._app(scope, cleaned, send)

    def clean(self, body: bytes) -> bytes:
        """The body of a chat request; the same where there is nothing to do, or where it is none.

        Raises TokenInPlace for tools in which a control token stands where every character counts, RecursionError for
        what can be read and is too deep to look through.
        """
        try:
            request = json.loads(body)
        except (ValueError, RecursionError):
            return body
        if not isinstance(request, dict) or not self._request(request):
            return body
        return json.dumps(request).encode()

    def _request(self, request: dict[str, Any]) -> bool:
        changed = False
        for name in ("messages", "input"):
            said = request.get(name)
            if isinstance(said, str):
                changed |= self._tokens.take_out([Piece(request, name)])
            elif isinstance(said, list):
                changed |= self._tokens.take_out([one for item in said for one in _item(item)])
        if "documents" in request:
            changed |= self._tokens.take_out(list(pieces(request, "documents", said=True)))
        for holder, key in tool_forms.places(request):
            changed |= self._tokens.take_out(list(tool_words.described(holder, key, self._tokens.within)))
        return changed


def _item(item: Any) -> Iterator[Piece]:
    """The texts of one message, or of one item of the Responses API."""
    if not isinstance(item, dict):
        return
    role = item.get("role")
    said = isinstance(role, str) and role not in _OWN
    for name in ("role", "name", "content"):
        if name in item and role is not None:
            yield from pieces(item, name, said=said)
    if "output" in item:
        yield from pieces(item, "output", said=True)
