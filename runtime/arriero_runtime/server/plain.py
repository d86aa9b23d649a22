"""What people and tools say is text: no control tokens are made of it.

Chat templates put a message's text between control tokens such as <|im_end|>, and the tokenizer finds these wherever
they stand. Whoever can write them into a message could end it, and speak as the system.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from arriero_runtime.engine.protocol import AsgiApp, Message, Receive, Scope, Send
from arriero_runtime.server import spellings
from arriero_runtime.server.routes import CHAT, COUNT_TOKENS, MESSAGES, RESPONSES, TOKENIZE

_JOINER: Final = "\u2060"
"""Invisible, and between two characters of a control token enough to leave it a text."""
_SAID: Final = frozenset({"user", "tool", "function"})
"""Roles whose text comes from elsewhere. What the system or the assistant says is the application's own."""
_OUTPUTS: Final = frozenset({"function_call_output", "custom_tool_call_output"})
_CHATS: Final = frozenset({CHAT, RESPONSES, MESSAGES, COUNT_TOKENS, TOKENIZE})
_ESCAPED: Final = rb"\\u00[2-7]|\\/"
"""A character of ASCII in disguise."""


class Plain:
    """The application, with the control tokens in what was said put out of action. `tokens` are the model's."""

    def __init__(self, app: AsgiApp, tokens: Iterable[str]) -> None:
        known = {token for token in tokens if len(token) > 1}
        self._app = app
        self._text = re.compile(spellings.pattern(known)) if known else None
        written = spellings.pattern(_written(token).decode("latin-1") for token in known).encode("latin-1")
        self._bytes = re.compile(b"|".join([written, *_disguises(known)]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Expects the whole body in one message, as both ways to the application give it."""
        if self._text is None or scope["path"] not in _CHATS:
            await self._app(scope, receive, send)
            return

        async def cleaned() -> Message:
            message = await receive()
            if message["type"] == "http.request":
                message = {**message, "body": self.clean(message.get("body", b""))}
            return message

        await self._app(scope, cleaned, send)

    def clean(self, body: bytes) -> bytes:
        """The body of a chat request; the same where there is nothing to do, or where it is none."""
        if not self._bytes.search(body):
            return body
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
                request[name] = self._plain(said)
                changed |= request[name] != said
            elif isinstance(said, list):
                changed = any([self._item(item) for item in said]) or changed
        if "documents" in request:
            before = request["documents"]
            request["documents"] = self._all(before)
            changed |= request["documents"] != before
        return changed

    def _item(self, item: Any) -> bool:
        """One message, or one item of the Responses API."""
        if not isinstance(item, dict):
            return False
        names = ["content"] if item.get("role") in _SAID else []
        if item.get("type") in _OUTPUTS:
            names.append("output")
        changed = False
        for name in names:
            before = item.get(name)
            item[name] = self._all(before)
            changed |= item[name] != before
        return changed

    def _all(self, value: Any) -> Any:
        """The same with every text in it plain."""
        if isinstance(value, str):
            return self._plain(value)
        if isinstance(value, list):
            return [self._all(entry) for entry in value]
        if isinstance(value, dict):
            return {name: self._all(entry) for name, entry in value.items()}
        return value

    def _plain(self, text: str) -> str:
        assert self._text is not None
        return self._text.sub(lambda found: found[0][0] + _JOINER + found[0][1:], text)


def _written(token: str) -> bytes:
    """As a body has it that escapes only what it must."""
    return json.dumps(token, ensure_ascii=False)[1:-1].encode()


def _disguises(tokens: Iterable[str]) -> list[bytes]:
    """Patterns, one of which is in every body that has one of the tokens written in another way."""
    others = sorted({character for token in tokens for character in token if not character.isascii()})
    escapes = (json.dumps(character)[1:-1] for character in others)
    return [_ESCAPED, *(b"(?i:%s)" % re.escape(escape).encode() for escape in escapes)]
