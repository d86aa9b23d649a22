"""Bodies that would keep the engine's application busy, or that it would ignore in part, are refused before it."""

import asyncio
import json
import weakref
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arriero_runtime.engine.protocol import Message, Receive, Scope, Send
from arriero_runtime.server import screen
from arriero_runtime.server.answers import OPENAI
from arriero_runtime.server.budget import MIB, SMALL_BYTES, Budget, Held
from tests.runtime.server.harness import Running, error_of, options_for, running
from tests.support.eventually import eventually_async

CHAT = "/v1/chat/completions"
COMPLETION = "/v1/completions"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Running]:
    async with running(options_for(tmp_path)) as found:
        yield found


def refused(path: str, **request: Any) -> dict[str, Any] | None:
    found = screen.refusal(path, json.dumps({"model": "one", **request}).encode())
    if found is None:
        return None
    assert found.status == 400
    error: dict[str, Any] = json.loads(found.body)["error"]
    return error


@pytest.mark.parametrize(
    ("path", "name", "instead"),
    [
        (CHAT, "guided_json", "structured_outputs"),
        (COMPLETION, "guided_regex", "structured_outputs"),
        (COMPLETION, "guided_choice", "structured_outputs"),
        (CHAT, "guided_grammar", "structured_outputs"),
        ("/v1/responses", "guided_json", "text"),
        ("/v1/responses", "max_tokens", "max_output_tokens"),
        (CHAT, "functions", "tools"),
        (COMPLETION, "best_of", '"n"'),
    ],
)
def test_a_parameter_that_would_be_ignored_is_refused_with_what_to_use(path: str, name: str, instead: str) -> None:
    error = refused(path, **{name: {"type": "object"}})
    assert error is not None
    assert error["param"] == name
    assert instead in error["message"]


@pytest.mark.parametrize("extra", [{"best_of": 1}, {"guided_json": None}, {"function_call": "none"}, {"user": "x"}])
def test_a_parameter_without_effect_is_let_through(extra: dict[str, Any]) -> None:
    assert refused(CHAT, **extra) is None


def test_the_name_of_a_parameter_inside_a_text_is_only_text() -> None:
    assert refused(COMPLETION, prompt='{"guided_json": 1}') is None


@pytest.mark.parametrize(
    "request_",
    [
        {"messages": [{}] * 10_001},
        {"messages": [1] * 10_001},
        {"prompt": [None] * 10_001},
        {"logit_bias": {str(key): None for key in range(10_001)}},
        {"messages": [{"role": "user", "content": [{}] * 5_000}] * 11},
        {"stop": [""] * 6_000_000},
    ],
    ids=["objects", "numbers", "prompt", "object", "nested", "not even parsed"],
)
def test_a_flood_of_values_is_refused(request_: dict[str, Any]) -> None:
    assert refused(CHAT, **request_) is not None


def test_where_a_wrong_item_costs_more_fewer_are_allowed() -> None:
    assert refused("/v1/responses", input=[{}] * 1_001) is not None
    assert refused(CHAT, messages=[{}] * 1_001) is None


def test_a_name_that_is_no_text_can_be_told() -> None:
    error = refused(CHAT, **{"\ud800": [1] * 10_001})
    assert error is not None
    assert error["param"] == "?"


def test_long_lists_of_token_ids_and_long_texts_are_let_through() -> None:
    assert refused(COMPLETION, prompt=[1] * 200_000) is None
    assert refused(COMPLETION, prompt=[[1] * 20_000, [2] * 20_000]) is None
    assert refused("/v1/embeddings", input=[1] * 20_000) is None
    assert refused(CHAT, messages=[{"role": "user", "content": "{a, [b], c}" * 50_000}]) is None
    assert refused("/v1/responses", input=[1] * 20_000) is not None


@pytest.mark.parametrize(
    ("request_", "param"),
    [
        ({"stop": ["\ud800"]}, "stop.0"),
        ({"vllm_xargs": {"a": "\udfff"}}, "vllm_xargs.a"),
        ({"vllm_xargs": {"\ud800": "a"}}, "vllm_xargs"),
        ({"top_k": 2**70}, "top_k"),
        ({"structured_outputs": "a+"}, "structured_outputs"),
        ({"structured_outputs": []}, "structured_outputs"),
        ({"structured_outputs": {"json": {"maximum": 10**30}}}, "structured_outputs.json.maximum"),
    ],
)
def test_what_cannot_reach_the_engine_is_the_clients_fault(request_: dict[str, Any], param: str) -> None:
    error = refused(COMPLETION, **request_)
    assert error is not None
    assert error["param"] == param


def test_whole_surrogate_pairs_large_numbers_of_messages_and_fractions_are_let_through() -> None:
    assert refused(CHAT, messages=[{"role": "user", "content": "\U0001f600"}], metadata={"id": 10**30}) is None
    assert refused(COMPLETION, prompt="x", temperature=0.1234567890123456789) is None
    assert refused(COMPLETION, prompt="x", structured_outputs={"regex": "a"}) is None
    assert refused(COMPLETION, prompt="x", structured_outputs=None) is None


@pytest.mark.parametrize("body", [b"[" * 200_000, b"\\ud800", b'{"a": ' + b"9" * 5_000 + b"}", b"\xff,\\ud800"])
def test_what_is_no_json_is_left_to_the_application(body: bytes) -> None:
    assert screen.refusal(COMPLETION, body) is None


async def test_a_refusal_reaches_the_client_in_the_form_of_its_api(server: Running) -> None:
    answer = await server.client.post(CHAT, json={"model": "one", "guided_regex": "a"})
    assert (answer.status_code, error_of(answer)["param"]) == (400, "guided_regex")
    assert not server.engine.started.is_set()
    native = await server.client.post("/v1/inference/completion", json={"content": [{}] * 10_001})
    assert native.status_code == 400
    assert "10000 are allowed" in native.json()["detail"]


@pytest.mark.parametrize("long_seconds", [0.5, 0.0])
async def test_large_bodies_are_read_one_at_a_time_and_answered_together(
    monkeypatch: pytest.MonkeyPatch, long_seconds: float
) -> None:
    monkeypatch.setattr(screen, "_LONG_SECONDS", long_seconds)
    large = b'{"prompt": "' + b"x" * 5_000 + b'"}'
    reading: list[int] = []
    most = 0
    together = asyncio.Barrier(5)
    screened = screen.Screen()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal most
        reading.append(1)
        assert (await receive())["body"] == large
        await asyncio.sleep(0)
        most = max(most, len(reading))
        reading.pop()
        waiting = asyncio.ensure_future(receive())
        await together.wait()
        waiting.cancel()
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def one() -> None:
        bodies = [large]

        async def receive() -> Message:
            if bodies:
                return {"type": "http.request", "body": bodies.pop()}
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Message) -> None:
            assert message["status"] == 200

        await screened(app, OPENAI, {"path": COMPLETION}, receive, send)

    async with asyncio.timeout(10):
        await asyncio.gather(*(one() for _ in range(5)))
    assert most == 1


COMPLETE = {"path": COMPLETION}


class Client:
    """FAKE: sends a body in chunks as fast as it is read, and keeps what it is answered."""

    def __init__(self, *chunks: bytes, ends: bool = True) -> None:
        self.chunks = list(chunks)
        self.ends = ends
        self.got: list[Message] = []

    async def receive(self) -> Message:
        if self.chunks:
            chunk = self.chunks.pop(0)
            return {"type": "http.request", "body": chunk, "more_body": bool(self.chunks) or not self.ends}
        await asyncio.Event().wait()
        raise AssertionError

    async def send(self, message: Message) -> None:
        self.got.append(message)


async def test_bodies_are_held_up_to_a_sum_and_refused_beyond_it_until_a_request_ends() -> None:
    screened, release = screen.Screen(), asyncio.Event()
    screened._budget = Budget(small=SMALL_BYTES * 4, large=2 * MIB)
    body = json.dumps({"prompt": "x" * (MIB + SMALL_BYTES)}).encode()[: MIB + SMALL_BYTES]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await release.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def asks(client: Client) -> int:
        await screened(app, OPENAI, COMPLETE, client.receive, client.send)
        return int(client.got[0]["status"])

    async with asyncio.timeout(10):
        slow = asyncio.ensure_future(asks(Client(body, ends=False)))
        whole = asyncio.ensure_future(asks(Client(body[:MIB], body[MIB:])))
        await eventually_async(lambda: screened._budget.left[1] == 0)
        third = Client(body[:MIB], body[MIB:])
        assert await asks(third) == 503
        headers = dict(third.got[0]["headers"])
        assert (headers[b"retry-after"], headers[b"connection"]) == (b"5", b"close")
        small = asyncio.ensure_future(asks(Client(b'{"prompt": "x"}')))
        slow.cancel()
        await asyncio.wait({slow})
        again = asyncio.ensure_future(asks(Client(body)))
        await eventually_async(lambda: screened._budget.left[1] == 0)
        release.set()
        assert [await one for one in (whole, small, again)] == [200, 200, 200]
    assert screened._budget.left == (SMALL_BYTES * 4, 2 * MIB)


async def test_a_body_is_let_go_with_its_handing_over(monkeypatch: pytest.MonkeyPatch) -> None:
    class Body:
        """In place of bytes, of which nobody can tell whether they are still there."""

        def __len__(self) -> int:
            return 5000

    bodies = [Body()]
    found = weakref.ref(bodies[0])
    alive: list[bool] = []

    async def body(receive: Receive, held: Held) -> list[Body]:
        return bodies

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        alive.append(found() is not None)

    monkeypatch.setattr(screen, "_body", body)
    monkeypatch.setattr(screen, "refusal", lambda path, body, honoured: None)
    client = Client()
    await screen.Screen()(app, OPENAI, COMPLETE, client.receive, client.send)
    assert alive == [False]


async def test_a_large_body_is_not_even_looked_at_while_another_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    entered, release = asyncio.Event(), asyncio.Event()
    monkeypatch.setattr(screen, "refusal", lambda path, body, honoured: looked.append(len(body)))

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        entered.set()
        await release.wait()

    screened = screen.Screen()
    clients = [Client(b"x" * size) for size in (5000, 6000, 10)]
    tasks = [asyncio.ensure_future(screened(app, OPENAI, COMPLETE, one.receive, one.send)) for one in clients]
    await asyncio.wait_for(entered.wait(), 10)
    await eventually_async(lambda: 10 in looked)
    assert sorted(looked) == [10, 5000]
    release.set()
    await asyncio.wait(tasks)
    assert sorted(looked) == [10, 5000, 6000]
