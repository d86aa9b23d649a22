"""FAKE, for tests only: an engine that answers what it is told to, in place of vLLM, which needs minutes and GiB."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from arriero_runtime.engine.protocol import (
    AdapterRefused,
    AsgiApp,
    Counters,
    FirstAnswer,
    LoraCapacity,
    Receive,
    Scope,
    Send,
    Tokens,
)
from arriero_runtime.failing import StartError
from arriero_runtime.model import Model


async def body_of(receive: Receive) -> bytes:
    """The whole body of a request."""
    data = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError("the client has gone")
        data += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(data)


class ScriptedEngine:
    """Serves chat completions. A request's `"user"` says what happens: absent: an answer at once; `"wait"`: an answer
    once `release` is set; `"stream"`: one event, then the rest once `release` is set or the request is aborted."""

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self.lora: LoraCapacity | None = None
        self.vocabulary: Tokens | None = None
        self.adapters: dict[str, Path] = {}
        self.weights: dict[str, int] = {}
        self.holds: set[int] = set()
        self._loads = 0
        self.refuses: dict[str, AdapterRefused] = {}
        self.answer = FirstAnswer((-0.5, -1.0), blind=-10.8)
        self.release = asyncio.Event()
        self.aborted = asyncio.Event()
        self.deaf = False
        self.errored = False
        self.stops = 0
        self.disconnects = 0
        self.started = asyncio.Event()

    @property
    def stopped(self) -> bool:
        return self.stops > 0

    @property
    def app(self) -> AsgiApp:
        return self._serve

    @property
    def paths(self) -> frozenset[str]:
        return frozenset({"/v1/models", "/v1/chat/completions", "/metrics", "/version", "/invocations"})

    @property
    def effective(self) -> Mapping[str, str | int | bool]:
        return {"maxModelLen": 1024}

    @property
    def message_ends(self) -> frozenset[int]:
        return frozenset({128008})

    def document(self) -> Mapping[str, object]:
        # As the engine's own, it does not tell of what is mounted, such as /metrics.
        asked = {"post": {"operationId": "ask", "responses": {"200": {"description": ""}}}}
        told = {"get": {"operationId": "tell", "responses": {"200": {"description": ""}}}}
        found = {path: asked for path in self.paths - {"/metrics", "/version", "/v1/models"}}
        return {"paths": {**found, "/version": told, "/v1/models": told, "/health": told}}

    @property
    def control_tokens(self) -> frozenset[str]:
        return frozenset({"<|im_start|>", "<|im_end|>", "</s>"})

    @property
    def honoured(self) -> frozenset[str]:
        return frozenset()

    async def tokens(self) -> Tokens | None:
        return self.vocabulary

    def counters(self) -> Counters:
        return Counters(steps=7, tokens=70)

    def metrics(self) -> str:
        return "fake_series 1\n"

    def rename(self, names: Sequence[str]) -> None:
        self.names = tuple(names)

    async def load_adapter(self, name: str, folder: Path) -> int | None:
        if name in self.refuses:
            raise self.refuses[name]
        before, self._loads = self.weights.get(name), self._loads + 1
        self.adapters[name], self.weights[name] = folder, self._loads
        self.holds.add(self._loads)
        return before

    def unload_adapter(self, name: str) -> int | None:
        del self.adapters[name]
        return self.weights.pop(name)

    async def drop_adapter(self, weights: int) -> None:
        self.holds.remove(weights)

    async def first_answer(self) -> FirstAnswer:
        return self.answer

    async def abort_all(self) -> None:
        if not self.deaf:
            self.aborted.set()

    async def stop(self, seconds: float) -> None:
        self.stops += 1

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/v1/models":
            await self._json(send, 200, {"data": [{"id": name} for name in (*self.names, *self.adapters)]})
        elif scope["path"] == "/v1/chat/completions":
            await self._chat(json.loads(await body_of(receive)), receive, send)
        else:
            await self._json(send, 200, {"path": scope["path"]})

    async def _chat(self, request: Mapping[str, str], receive: Receive, send: Send) -> None:
        self.started.set()
        if request["model"] not in (*self.names, *self.adapters):
            await self._json(send, 404, {"error": {"message": "no such model", "code": 404}})
        elif request.get("user") == "stream":
            await self._stream(receive, send)
        elif request.get("user") != "wait" or await self._released(receive):
            await self._json(send, 200, {"answer": "Paris"})

    async def _stream(self, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"data: one\n\n", "more_body": True})
        if await self._released(receive):
            last = b"data: abort\n\n" if self.aborted.is_set() else b"data: two\n\n"
            await send({"type": "http.response.body", "body": last + b"data: [DONE]\n\n"})

    async def _released(self, receive: Receive) -> bool:
        """False when the client has gone first."""
        gone = asyncio.ensure_future(receive())
        free = [asyncio.ensure_future(event.wait()) for event in (self.release, self.aborted)]
        done, pending = await asyncio.wait({gone, *free}, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        if gone in done:
            self.disconnects += 1
        return gone not in done

    @staticmethod
    async def _json(send: Send, status: int, body: object) -> None:
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})


class ScriptedLoader:
    """FAKE: "loads" the scripted engine once `go` is set; `fail` is raised instead, or `broken`, which
    nobody has explained. `given_up` is set when somebody no
    longer wants what is being loaded, and ends that. Arguments are checked once `checked` is set, and `refuse` is what
    is wrong with them; `unfit` is what is wrong with the configuration, of which `seen` are the files."""

    def __init__(self, engine: ScriptedEngine) -> None:
        self.engine = engine
        self.go = asyncio.Event()
        self.go.set()
        self.refuse: StartError | None = None
        self.fail: StartError | None = None
        self.broken: Exception | None = None
        self.loaded: Path | None = None
        self.loads = 0
        self.pooling = False
        self.checked = asyncio.Event()
        self.checked.set()
        self.unfit: StartError | None = None
        self.seen: set[str] = set()
        self.flags: tuple[str, ...] = ()
        self.given_up = asyncio.Event()

    async def check_arguments(self) -> None:
        await self.checked.wait()
        if self.refuse:
            raise self.refuse

    async def check_model(self, folder: Path, model: Model) -> None:
        files = await asyncio.to_thread(lambda: list(folder.iterdir()))
        self.seen = {file.name for file in files}
        if self.unfit:
            raise self.unfit

    def give_up(self) -> None:
        self.given_up.set()

    async def load(self, folder: Path, names: Sequence[str], model: Model) -> ScriptedEngine:
        self.loaded, self.pooling = folder, model.pooling
        self.loads += 1
        go, given_up = (asyncio.ensure_future(event.wait()) for event in (self.go, self.given_up))
        await asyncio.wait({go, given_up}, return_when=asyncio.FIRST_COMPLETED)
        go.cancel()
        given_up.cancel()
        if self.given_up.is_set():
            raise RuntimeError("the engine's processes have ended")
        if fault := self.fail or self.broken:
            raise fault
        self.engine.rename(names)
        return self.engine
