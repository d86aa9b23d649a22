"""How the engine's application tells of errors, put right: one form, the right status, and no stream that begins
well and then says only that it failed."""

import ast
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from arriero_runtime.engine.protocol import STRAIGHT, AsgiApp, Message, Receive, Scope, Send
from arriero_runtime.server import answers, constraints
from arriero_runtime.server.answers import INVALID, Refusal, Voice, kind_of
from arriero_runtime.server.routes import voice_of

_UNREADABLE: Final = "There was an error parsing the body"
_INTERNAL: Final = "Internal server error"
"""The application's words for a request that the engine gave up: with a form for the answer, on its account."""
_GAVE_UP: Final = json.dumps({"error": {"message": _INTERNAL}}).encode()
_DETAIL: Final = re.compile(r"^  (\{.*\})$", re.MULTILINE)
_OF_THE_BODY: Final = frozenset(
    {b"content-type", b"content-length", b"content-encoding", b"content-language", b"etag", b"transfer-encoding"}
)
"""Headers of an answer that another body has not got."""


@dataclass(frozen=True, slots=True)
class _Form:
    """How one API's streams tell of errors: an event that begins with `error`, in the words of `voice`. `first` is in
    the first event, which says nothing: the application sends it when the engine has told of the request for the first
    time, be it that it failed; what the engine told follows at once.

    `theirs`: what the application says in such an event is of its own trouble to read what the engine told.
    """

    voice: Voice
    error: bytes = b'data: {"error"'
    first: bytes = b'"delta":{"role":"assistant","content":""}'
    theirs: bool = False

    def event(self, refusal: Refusal, rest: bytes) -> bytes:
        """In place of an event of an error; `rest` came with it."""
        if self.theirs:
            return self.voice.last_words(refusal) + rest
        return b"data: " + refusal.body.encode() + b"\n\n" + rest


_MESSAGES: Final = _Form(answers.MESSAGES, b"event: error\n", b"event: message_start\n", theirs=True)


def _form_of(path: str) -> _Form:
    voice = voice_of(path)
    return _MESSAGES if voice is answers.MESSAGES else _Form(voice)


class Told:
    """The application with its errors put right. `dead` tells whether the engine has died."""

    def __init__(self, app: AsgiApp, dead: Callable[[], bool]) -> None:
        self._app = app
        self._dead = dead

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As the application, but for its errors. A stream's head is sent with its first event."""
        if scope["method"] == "GET":
            await self._app(scope, receive, send)
            return
        answer = _Answer(_form_of(scope["path"]), receive, send, self._dead)
        await self._app({**scope, STRAIGHT: answer.send}, answer.receive, answer.send)


class _Answer:
    def __init__(self, form: _Form, receive: Receive, send: Send, dead: Callable[[], bool]) -> None:
        self._form = form
        self._receive = receive
        self._send = send
        self._dead = dead
        self._binding: str | None = None
        self._head: Message | None = None
        self._first = b""
        self._error: bytearray | None = None
        self._over = False
        self._through = False

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request" and self._binding is None:
            # The body itself may be large, and is not kept.
            self._binding = constraints.binding(message.get("body", b""))
        return message

    def send(self, message: Message) -> Awaitable[None]:
        # For every token of every stream: what has begun well goes through as it is.
        if self._through and not message.get("body", b"").startswith(self._form.error):
            return self._send(message)
        return self._look_at(message)

    async def _look_at(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._head = message
            if message["status"] >= 400:
                self._error = bytearray()
        elif not self._over:
            await self._body(message)

    async def _body(self, message: Message) -> None:
        data = message.get("body", b"")
        if self._error is not None and self._head is not None:
            self._error += data
            if not message.get("more_body", False):
                await self._refuse(self._head, self._put_right(self._head["status"], bytes(self._error)))
            return
        if data.startswith(self._form.error):
            event, _, rest = data.partition(b"\n\n")
            refusal = self._put_right(500, _GAVE_UP if self._form.theirs else event.removeprefix(b"data: "))
            if self._head is not None:
                await self._refuse(self._head, refusal)
                return
            message = {**message, "body": self._form.event(refusal, rest)}
        elif self._head is not None:
            if message.get("more_body", False) and (not data or (not self._first and self._form.first in data)):
                self._first += data
                return
            await self._send(self._head)
            self._head = None
            self._through = True
            message = {**message, "body": self._first + data}
        await self._send(message)

    async def _refuse(self, head: Message, refusal: Refusal) -> None:
        """In place of the answer with this head, whose other headers are right for any: the request's number, and what
        browsers and caches need to know."""
        self._over = True
        kept: dict[str, str] = {}
        for name, value in head.get("headers", []):
            if name.lower() not in _OF_THE_BODY:
                key, text = name.lower().decode("latin-1"), value.decode("latin-1")
                kept[key] = f"{kept[key]}, {text}" if key in kept else text  # RFC 9110, section 5.3
        await replace(refusal, headers={**kept, **refusal.headers}).send(self._send, self._form.voice)

    def _put_right(self, status: int, body: bytes) -> Refusal:
        told = _told(body)
        if isinstance(code := told.get("code"), int) and 400 <= code < 600:
            status = code
        message, param = _words(str(told.get("message") or "")), _param(told.get("param"))
        if status >= 500 and self._dead():
            return answers.engine_gone()
        if status == 500 and message == _INTERNAL and self._binding:
            words = (
                f"The engine gave the request up: what '{self._binding}' asks for cannot be compiled or has no answer."
            )
            return Refusal(400, INVALID, words, extra={"param": self._binding})
        extra = {"param": param} if param else {}
        headers = {"retry-after": str(answers.RETRY_SECONDS)} if status in (429, 503) else {}
        return Refusal(status, kind_of(status), message or f"The request failed ({status}).", headers, extra)


def _told(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        return {"message": body.decode(errors="replace")[:1000]}
    if not isinstance(found, dict):
        return {}
    error = found.get("error")
    if isinstance(error, dict):
        return error
    detail = found.get("detail")
    return {"message": "The body cannot be read as JSON." if detail == _UNREADABLE else str(detail or "")}


def _param(param: object) -> str:
    """The field's own name: the application puts "body." before it, as it also reads headers."""
    return "" if not isinstance(param, str) or param == "body" else param.removeprefix("body.")


def _words(message: str) -> str:
    """Field and fault of each entry, where the message is a list of what a checking library found."""
    found = []
    for text in _DETAIL.findall(message):
        try:
            entry = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return message
        reason = entry.get("ctx", {}).get("error") if entry.get("type") == "json_invalid" else None
        words = f"no JSON: {reason}" if reason else str(entry.get("msg", "")).removeprefix("Value error, ")
        found.append(f"{_param(entry.get('loc')) or 'The body of the request'}: {words}")
    return "; ".join(dict.fromkeys(found)) or message
