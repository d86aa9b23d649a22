"""What a request's body may not hold, looked at before the engine's application reads it.

The application checks each value of a body against every form that it might have, and collects all that is wrong. A few
hundred KiB of wrong values can keep the whole process busy for minutes, in which no other request is answered.
"""

import asyncio
import json
import re
import time
from collections.abc import Awaitable
from typing import Any, Final, Self

from arriero_runtime.engine.protocol import AsgiApp, Message, Receive, Scope, Send
from arriero_runtime.server import answers, effect, fields, grammars
from arriero_runtime.server.answers import INVALID, Refusal, Voice, invalid
from arriero_runtime.server.budget import Budget, Held
from arriero_runtime.server.routes import INFERENCE, OPENAI_PREFIX, RESPONSES
from arriero_runtime.server.shape import SUSPECT, Limits, too_many, unusable

LIMITS: Final = Limits(10_000, 50_000)
NARROW: Final = {RESPONSES: Limits(500, 20_000)}
"""Each item may have so many forms there that a wrong one costs a millisecond and more."""
_MAX_MARKS: Final = 5_000_000
"""Commas, brackets and braces of a body, those in its texts included: more is not even parsed."""
_SMALL_BYTES: Final = 1024
"""Bodies up to this size cost too little to be taken one at a time."""
_LONG_SECONDS: Final = 0.5
_REST_SECONDS: Final = 0.1
_TOKEN_IDS: Final = frozenset({"prompt", "tokens", "allowed_token_ids", "stop_token_ids"})
_TOLD_THERE: Final = f"{INFERENCE}/"
"""The Llama Stack routes tell of such texts and numbers themselves, in their way."""
_CONSTRAINED: Final = re.compile(rb'"(?:response_format|structured_outputs|tools|output_config)"')


class Screen:
    """Stands before the applications of one server. `honoured`: see `refusal`."""

    def __init__(self) -> None:
        self.honoured: frozenset[str] = frozenset()
        self._lock = asyncio.Lock()
        self._budget = Budget()

    async def __call__(self, app: AsgiApp, voice: Voice, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body and hand it on, or refuse it in the API's voice."""
        with self._budget.holding() as held:
            try:
                bodies = await _body(receive, held)
            except _NoRoom:
                await answers.no_room().send(send, voice)
                return
            if bodies:
                await self._hand_on(app, voice, scope, bodies, receive, send)

    async def _hand_on(
        self, app: AsgiApp, voice: Voice, scope: Scope, bodies: list[bytes], receive: Receive, send: Send
    ) -> None:
        """The one body goes with its handing over: the answer may take long, and the body be large."""
        async with _Turn(self._lock if len(bodies[0]) > _SMALL_BYTES else None) as turn:
            if refused := refusal(scope["path"].removeprefix(OPENAI_PREFIX), bodies[0], self.honoured):
                turn.end()
                await refused.send(send, voice)
                return
            await turn.rest()

            async def replay() -> Message:
                if bodies:
                    return {"type": "http.request", "body": bodies.pop(), "more_body": False}
                turn.end()
                return await receive()

            def answered(message: Message) -> Awaitable[None]:
                turn.end()
                return send(message)

            await app(scope, replay, answered if turn.held else send)


class _Turn:
    """From the handing over of a large body until the application has read it, which shows when it waits for its client
    or answers. One at a time: what many of them cost in a row would leave no time for the server's signs of life."""

    def __init__(self, lock: asyncio.Lock | None) -> None:
        self._lock = lock
        self.held = False
        self._began = 0.0

    async def __aenter__(self) -> Self:
        if self._lock is not None:
            await self._lock.acquire()
            self.held = True
            self._began = time.monotonic()
        return self

    async def __aexit__(self, *error: object) -> None:
        self.end()

    async def rest(self) -> None:
        """In the middle of a long turn, until all else has had its own."""
        if self.held and time.monotonic() - self._began > _LONG_SECONDS:
            await asyncio.sleep(_REST_SECONDS)

    def end(self) -> None:
        """Harmless when repeated. After a long turn the next one waits until all else has had its own."""
        if self._lock is None or not self.held:
            return
        self.held = False
        if time.monotonic() - self._began > _LONG_SECONDS:
            # The loop's own clock stood still meanwhile; it goes right from its next round on.
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.call_later, _REST_SECONDS, self._lock.release)
        else:
            self._lock.release()


class _NoRoom(Exception):
    """The budget for bodies is used up."""


async def _body(receive: Receive, held: Held) -> list[bytes]:
    """The one body; nothing when the client has gone, or its request was ended. Raises _NoRoom."""
    chunks: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return []
        chunk = message.get("body", b"")
        if not held.take(len(chunk)):
            raise _NoRoom
        chunks.append(chunk)
        if not message.get("more_body", False):
            return [b"".join(chunks)]


def refusal(path: str, body: bytes, honoured: frozenset[str] = frozenset()) -> Refusal | None:
    """What is wrong with the body; None also for one that is no JSON, of which the application tells. `honoured` are
    the parameters of `fields.UNLESS` that the engine was started for."""
    if b"\0" in body:
        # UTF-16 and UTF-32, which the application reads too: nothing here or behind would find a word in them.
        return invalid("", "is not JSON in UTF-8")
    marks = sum(body.count(mark) for mark in (b",", b"[", b"{"))
    if marks > _MAX_MARKS:
        return invalid("", f"has more than {_MAX_MARKS} values")
    texts = not path.startswith(_TOLD_THERE)
    limits = NARROW.get(path, LIMITS)
    suspect = marks > limits.entries or (texts and SUSPECT.search(body)) or _CONSTRAINED.search(body)
    if path not in fields.TAKEN and not suspect:
        return None
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        return None
    ids = _TOKEN_IDS | {"input"} if path.endswith("/embeddings") else _TOKEN_IDS
    return (
        too_many(request, ids, limits)
        or (unusable(request) if texts and suspect else None)
        or (_unwanted(path, request, honoured) if isinstance(request, dict) else None)
    )


def _unwanted(path: str, request: dict[str, Any], honoured: frozenset[str]) -> Refusal | None:
    if fault := effect.fault(path, request, honoured):
        name, words = fault
        return Refusal(400, INVALID, f"The parameter '{name[:100]}' {words}.", extra={"param": name[:100]})
    if fault := grammars.fault(request):
        return invalid(*fault)
    return None
