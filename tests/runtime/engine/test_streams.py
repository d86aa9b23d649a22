"""Streams of vLLM's application take the server's own way, and end when their client leaves.

FAKE: the modules of vLLM's routes.
"""

import asyncio
import contextlib
import gc
import sys
import weakref
from collections.abc import AsyncIterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from fastapi.responses import StreamingResponse

from arriero_runtime.engine.protocol import STRAIGHT, Message
from arriero_runtime.engine.vllm.streams import HEADS_ONLY, Closed, Straight, straighten

PACKAGES = ("openai.chat_completion", "openai.completion", "openai.responses", "anthropic")
ROUTES = [f"vllm.entrypoints.{name}.api_router" for name in PACKAGES]


class Client:
    """FAKE: the server's side of a connection; `sent` has the way that each message came by."""

    def __init__(self) -> None:
        self.left = asyncio.Event()
        self.sent: list[tuple[str, Any]] = []

    async def receive(self) -> Message:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def wrapped(self, message: Message) -> None:
        self.sent.append(("wrapped", message.get("body", message["type"])))

    async def straight(self, message: Message) -> None:
        self.sent.append(("straight", message["body"] if message["more_body"] else "end"))

    @property
    def scope(self) -> dict[str, Any]:
        return {"type": "http", STRAIGHT: self.straight}


class Source:
    """Gives one event, then waits."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled = False

    async def __aiter__(self) -> AsyncIterator[str]:
        yield "one"
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise


async def events() -> AsyncIterator[str | bytes]:
    yield "ä"
    yield b"two"


async def test_the_head_takes_the_applications_way_and_events_the_servers() -> None:
    client = Client()
    await Straight(events(), media_type="text/event-stream")(client.scope, client.receive, client.wrapped)
    assert client.sent == [
        ("wrapped", "http.response.start"),
        ("straight", "ä".encode()),
        ("straight", b"two"),
        ("straight", "end"),
    ]


async def test_without_another_way_all_takes_the_applications() -> None:
    client = Client()
    await Straight(events())({"type": "http"}, client.receive, client.wrapped)
    assert client.sent == [(("wrapped"), part) for part in ("http.response.start", "ä".encode(), b"two", b"")]


async def test_the_generator_is_cancelled_when_the_client_leaves_and_nothing_is_raised() -> None:
    client, source = Client(), Source()
    running = asyncio.ensure_future(Straight(source)(client.scope, client.receive, client.wrapped))
    await source.begun.wait()
    assert not running.done()
    client.left.set()
    await asyncio.wait_for(running, 5)
    assert source.cancelled
    assert client.sent[-1] == ("straight", b"one")


async def test_a_cancellation_reaches_the_generator() -> None:
    client, source = Client(), Source()
    running = asyncio.ensure_future(Straight(source)(client.scope, client.receive, client.wrapped))
    await source.begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.sleep(0)
    assert source.cancelled


async def test_an_error_in_the_middle_is_the_applications_and_leaves_no_task() -> None:
    async def broken() -> AsyncIterator[str]:
        yield "one"
        raise RuntimeError("broken")

    client, tasks = Client(), asyncio.all_tasks()
    with pytest.raises(RuntimeError, match="broken"):
        await Straight(broken())(client.scope, client.receive, client.wrapped)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == tasks


@pytest.mark.parametrize("kind", [Straight, Closed])
@pytest.mark.parametrize("end", ["error", "left"])
async def test_a_stream_that_ends_while_an_event_is_sent_leaves_no_generator_behind(
    kind: type[Closed], end: str
) -> None:
    closed, sending = asyncio.Event(), asyncio.Event()

    async def endless() -> AsyncIterator[str]:
        try:
            while True:
                yield "one"
        finally:
            closed.set()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            sending.set()
            if end == "error":
                raise OSError("the request was ended")
            await asyncio.Event().wait()

    client, source = Client(), endless()  # held, so that nothing but the response can close it
    response = kind(source)
    running = asyncio.ensure_future(response({"type": "http", STRAIGHT: send}, client.receive, send))
    await sending.wait()
    client.left.set()
    await asyncio.gather(running, return_exceptions=True)
    assert closed.is_set()


async def test_the_error_of_a_stream_leaves_nothing_to_the_garbage_collector() -> None:
    async def fails(message: Message) -> None:
        raise OSError("the request was ended")

    client = Client()
    response = Straight(events())
    kept = weakref.ref(response)
    gc.disable()
    try:
        with contextlib.suppress(OSError):
            await response({"type": "http", STRAIGHT: fails}, client.receive, client.wrapped)
        del response
        await asyncio.sleep(0)
        assert kept() is None
    finally:
        gc.enable()


@pytest.fixture
def routes(monkeypatch: pytest.MonkeyPatch) -> list[ModuleType]:
    found = []
    for name in ROUTES:
        module = ModuleType(name)
        vars(module)["StreamingResponse"] = StreamingResponse
        monkeypatch.setitem(sys.modules, name, module)  # `import_module` looks there first
        found.append(module)
    return found


def application(*parts: str) -> SimpleNamespace:
    return SimpleNamespace(user_middleware=[SimpleNamespace(cls=type(part, (), {})) for part in parts])


def used(routes: list[ModuleType]) -> set[Any]:
    return {vars(module)["StreamingResponse"] for module in routes}


def test_the_routes_stream_straight_where_only_heads_are_looked_at(routes: list[ModuleType]) -> None:
    straighten(application(*HEADS_ONLY))
    assert used(routes) == {Straight}
    straighten(application())  # of another engine in this process
    assert used(routes) == {Straight}


def test_a_part_that_may_look_at_events_gets_them(routes: list[ModuleType]) -> None:
    straighten(application("CORSMiddleware", "BaseHTTPMiddleware"))
    assert used(routes) == {Closed}


def test_a_vllm_that_streams_in_another_way_is_not_taken(routes: list[ModuleType]) -> None:
    del vars(routes[0])["StreamingResponse"]
    with pytest.raises(RuntimeError, match="in another way"):
        straighten(application())
