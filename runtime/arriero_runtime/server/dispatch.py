"""The one application of port 8080, plain ASGI: size limit, allow-list, then the engine's own application, or the
Llama Stack routes that lean on it.

No middleware class stands between client and engine, so throughput and latency stay the engine's.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from arriero_api.contract import Phase
from arriero_runtime.engine.protocol import AsgiApp, Engine, Receive, Scope, Send
from arriero_runtime.lifecycle import LifeCycle
from arriero_runtime.native.facts import Facts, repository_of
from arriero_runtime.native.table import Native
from arriero_runtime.server import answers
from arriero_runtime.server.answers import Refusal
from arriero_runtime.server.exchange import Exchange
from arriero_runtime.server.routes import MAX_BODY_BYTES, Kind, Route
from arriero_runtime.server.screen import Screen

_SERVING = (Phase.READY, Phase.DRAINING)


@dataclass
class Dispatcher:
    """`app` is the engine's application once there is one, with the `paths` that it has; `model` is the model's URI.

    `refusing` ends the acceptance of requests in a drain. `on_busy` is called when the first request comes,
    `abort` to end the connection of a request without waiting for its client.
    """

    life: LifeCycle
    request_timeout_seconds: float
    model: str = ""
    max_body: int = MAX_BODY_BYTES
    app: AsgiApp | None = None
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
        facts = Facts(self.life, repository_of(self.model), lambda: self.paths, lambda: self.message_ends)
        self._native = Native(facts)

    @property
    def in_flight(self) -> int:
        """Requests that the engine works on, or that wait for it."""
        return len(self._open)

    def attach(self, engine: Engine) -> None:
        """Hand requests to this engine from now on, as far as the life cycle lets them through."""
        self.app, self.paths, self.message_ends = engine.app, engine.paths, engine.message_ends

    async def idle(self, seconds: float) -> bool:
        """Wait up to so long until no request is under way."""
        try:
            await asyncio.wait_for(self._idle.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def cut_all(self, refusal: Refusal) -> None:
        """End every request under way."""
        for exchange in tuple(self._open):
            exchange.cut(refusal)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            return
        if refusal := self._too_large(scope):
            await refusal.send(send)
            return
        method, path = scope["method"], scope["path"]
        methods = self._native.find(scope)
        if methods is None:
            await answers.not_found(method, path).send(send)
        elif method not in methods:
            await answers.wrong_method(path, frozenset(methods)).send(send)
        else:
            await self._answer(methods[method], scope, receive, send)

    def _too_large(self, scope: Scope) -> Refusal | None:
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value) > self.max_body:
                return answers.too_large(self.max_body)
        return None

    async def _answer(self, route: Route, scope: Scope, receive: Receive, send: Send) -> None:
        if route.kind is Kind.HEALTH:
            await self._health(send)
        elif route.here is not None:
            await route.here(scope, send)
        elif self.app is not None and route.kind is Kind.METRICS:
            await self.app(scope, receive, send)
        elif self.refusing:
            await answers.stopping().send(send, route.voice)
        elif self.app is None or self.life.phase not in _SERVING:
            await self._not_ready().send(send, route.voice)
        elif route.needs and route.needs not in self.paths:
            await answers.not_for_this_model(scope["path"]).send(send, route.voice)
        else:
            app = self.app if route.handler is None else partial(route.handler, self.app)
            if route.kind is Kind.WORK:
                await self._work(partial(self._screen, app, route.voice), route, scope, receive, send)
            else:
                await app(scope, receive, send)

    async def _health(self, send: Send) -> None:
        if self.life.phase is Phase.READY:
            await answers.reply(send, 200, "{}")
        else:
            await self._not_ready().send(send)

    def _not_ready(self) -> Refusal:
        return answers.not_ready(self.life.phase.value, self.life.status.progress.message)

    async def _work(self, app: AsgiApp, route: Route, scope: Scope, receive: Receive, send: Send) -> None:
        closing = self.life.phase is Phase.DRAINING
        abort = partial(self.abort, scope)
        exchange = Exchange(receive, send, self.max_body, abort=abort, closing=closing, voice=route.voice)
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
            if exchange.was_cut:
                self.cut += 1
            else:
                self.completed += 1
            if not self._open:
                self._idle.set()
