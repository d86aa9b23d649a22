"""The one application of port 8080, plain ASGI: size limit, allow-list, then the engine's own application, or the
Llama Stack routes that lean on it.

No middleware class stands between client and engine, so throughput and latency stay the engine's.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from arriero_api.contract import Phase
from arriero_runtime.engine.protocol import AsgiApp, Engine, Receive, Scope, Send
from arriero_runtime.lifecycle import LifeCycle
from arriero_runtime.native.errors import NATIVE
from arriero_runtime.native.facts import Facts
from arriero_runtime.native.registering import Registrar
from arriero_runtime.native.table import Native
from arriero_runtime.server import answers
from arriero_runtime.server.answers import Refusal, Voice
from arriero_runtime.server.counts import Counts, Status
from arriero_runtime.server.document import Document
from arriero_runtime.server.exchange import Exchange
from arriero_runtime.server.gate import Gate
from arriero_runtime.server.plain import Plain
from arriero_runtime.server.routes import Kind, Methods, Route, voice_of
from arriero_runtime.server.screen import Screen
from arriero_runtime.server.told import Told

_SERVING = (Phase.READY, Phase.DRAINING)


@dataclass
class Dispatcher:
    """`app` is the engine's application once there is one, with the `paths` that it has; `model` is the model's URI.

    `refusing` ends the acceptance of requests in a drain. `alone`: clients say what is served, and `registrar` does it.
    `on_busy` is called when the first request comes, `abort` to end the connection of a request without waiting for its
    client.
    """

    life: LifeCycle
    request_timeout_seconds: float
    model: str = ""
    alone: bool = False
    registrar: Registrar | None = None
    gate: Gate = field(default_factory=Gate)
    counts: Counts = field(default_factory=Counts)
    app: AsgiApp | None = None
    document: Document | None = None
    paths: frozenset[str] = frozenset()
    message_ends: frozenset[int] = frozenset()
    refusing: bool = False
    on_busy: Callable[[], object] = lambda: None
    abort: Callable[[Scope], object] = lambda scope: None
    completed: int = 0
    cut: int = 0
    _open: set[Exchange] = field(default_factory=set)
    _idle: asyncio.Event = field(default_factory=asyncio.Event)
    _screen: Screen = field(default_factory=Screen)

    def __post_init__(self) -> None:
        self._idle.set()
        self.facts = Facts(self.life, "", lambda: self.paths, lambda: self.message_ends)
        self.facts.of_model(self.model)
        self.facts.registered = self.alone
        self._native = Native(self.facts, (lambda: self.registrar) if self.alone else None)
        self.counts.know(self._native.paths)
        self.document = self._bare()

    @property
    def in_flight(self) -> int:
        """Requests that the engine works on, or that wait for it."""
        return len(self._open)

    def attach(self, engine: Engine) -> None:
        """Hand requests to this engine from now on, as far as the life cycle lets them through."""
        plain = Plain(engine.app, engine.control_tokens)
        self.app = Told(plain, lambda: engine.errored)
        self.paths, self.message_ends = engine.paths, engine.message_ends
        self._screen.honoured = engine.honoured
        self.document = self._documented(engine.document)

    def detach(self) -> None:
        """The engine is about to end: nothing of it is kept."""
        self.app, self.paths, self.message_ends, self.document = None, frozenset(), frozenset(), self._bare()

    def _bare(self) -> Document | None:
        """Where clients register models, they find how before there is one."""
        return self._documented(dict) if self.alone else None

    def _documented(self, read: Callable[[], Mapping[str, Any]]) -> Document:
        return Document(self._native.answerable, read, keys=lambda: self.gate.keys is not None, registers=self.alone)

    async def idle(self, seconds: float) -> bool:
        """Wait up to so long until no request is under way."""
        try:
            await asyncio.wait_for(self._idle.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def past(self) -> None:
        """Wait for the end of all requests that are under way now, and not for those that come meanwhile."""
        for exchange in tuple(self._open):
            await exchange.over.wait()

    def cut_all(self, refusal: Refusal, voices: Collection[Voice] = ()) -> None:
        """End every request under way, or those of some APIs."""
        for exchange in tuple(self._open):
            if not voices or exchange.voice in voices:
                exchange.cut(refusal)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            return
        status = Status(send)
        methods = self._native.find(scope)
        try:
            await self._respond(methods or {}, scope, receive, status)
        finally:
            label = self.counts.label(scope["path"], methods is not None)
            self.counts.answered(label, scope["method"], status.code)

    async def _respond(self, methods: Methods, scope: Scope, receive: Receive, status: Status) -> None:
        send, method, path = status.send, scope["method"], scope["path"]
        route = methods.get(method)
        voice = route.voice if route else voice_of(path)
        if refusal := self.gate.refusal(scope):
            await refusal.send(send, voice)
        elif not methods:
            await answers.not_found(method, path).send(send, voice)
        elif route is None:
            await answers.wrong_method(path, frozenset(methods)).send(send, voice)
        elif refusal := self.gate.wrong_body(scope, route):
            await refusal.send(send, voice)
        else:
            await self._answer(route, scope, receive, status)

    async def _answer(self, route: Route, scope: Scope, receive: Receive, status: Status) -> None:
        send = status.send
        if route.kind is Kind.HEALTH:
            await self._health(send)
        elif route.here is not None:
            await route.here(scope, receive, send)
        elif self.document is not None and route.kind is Kind.DOCUMENT:
            await self.document.answer(send)
        elif self.app is not None and route.kind is Kind.METRICS:
            await self.app(scope, receive, send)
        elif self.refusing:
            await answers.stopping().send(send, route.voice)
        elif self.app is None or self.life.phase not in _SERVING:
            await self._absent(route).send(send, route.voice)
        elif route.needs and route.needs not in self.paths:
            await answers.not_for_this_model(scope["path"]).send(send, route.voice)
        else:
            app = self.app if route.handler is None else partial(route.handler, self.app)
            if route.kind is Kind.WORK:
                await self._work(partial(self._screen, app, route.voice), route, scope, receive, status)
            else:
                await app(scope, receive, send)

    async def _health(self, send: Send) -> None:
        if self.life.phase is Phase.READY:
            await answers.reply(send, 200, "{}")
        else:
            await self._not_ready().send(send)

    def _absent(self, route: Route) -> Refusal:
        if self.alone and self.life.phase is Phase.EMPTY:
            return answers.nothing_registered(native=route.voice is NATIVE)
        return self._not_ready()

    def _not_ready(self) -> Refusal:
        return answers.not_ready(self.life.phase.value, self.life.status.progress.message)

    async def _work(self, app: AsgiApp, route: Route, scope: Scope, receive: Receive, status: Status) -> None:
        exchange = Exchange(
            receive,
            status.send,
            self.gate.max_body,
            abort=partial(self.abort, scope),
            more=status.more,
            closing=self.life.phase is Phase.DRAINING,
            voice=route.voice,
        )
        limit = self.request_timeout_seconds
        timer = asyncio.get_running_loop().call_later(limit, lambda: exchange.cut(answers.timed_out(limit)))
        if not self._open:
            self.on_busy()
        self._open.add(exchange)
        self._idle.clear()
        try:
            await exchange.run(app, scope)
        finally:
            timer.cancel()
            self._open.discard(exchange)
            exchange.over.set()
            if exchange.was_cut:
                self.cut += 1
            else:
                self.completed += 1
            self.counts.worked("ended" if exchange.was_cut else "client_left" if exchange.left else "completed")
            if not self._open:
                self._idle.set()
