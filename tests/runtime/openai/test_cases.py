"""Class C of the field cases, with the real engine."""

import asyncio
import itertools
import threading
import time
from typing import Any

import httpx
import pytest

from tests.runtime.openai.asking import CHAT, COMPLETIONS, SAID, chat, complete, error_of, events, texts
from tests.runtime.openai.conftest import LENGTH
from tests.support.eventually import eventually
from tests.support.live import Live

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

CHOICE = "🙂 žluťoučký 漢字 שלום 👩‍👩‍👧"


def schema(of: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": of}}}


TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}


def outputs(**constraint: Any) -> dict[str, Any]:
    return {"structured_outputs": constraint}


BAD: dict[str, dict[str, Any]] = {
    "an unknown type": schema({"type": "objekt"}),
    "bounds that cross": schema({"type": "integer", "minimum": 5, "maximum": 3}),
    "no value allowed": schema({"enum": []}),
    "types that contradict": schema({"allOf": [{"type": "string"}, {"type": "integer"}]}),
    "a negative length": schema({"type": "string", "minLength": -5}),
    "a reference to itself": schema({"$ref": "#"}),
    "a circle of references": schema({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}),
    "a reference to nothing": schema({"$ref": "#/nope"}),
    "a broken pattern": schema({"type": "string", "pattern": "[("}),
    "properties in a list": schema({"type": "object", "properties": []}),
    "two MB": schema({"type": "object", "properties": {f"k{i}": {"description": "d" * 190} for i in range(9000)}}),
    "a thousand properties": schema({"type": "object", "properties": {f"k{i}": {} for i in range(1000)}}),
    "a schema that is none": schema("x"),
    "a broken expression": outputs(regex="[("),
    "look-ahead": outputs(regex="(?!a)b"),
    "a grammar without end": outputs(grammar="root ::= root"),
    "a broken grammar": outputs(grammar="root ::= ("),
    "no choices": outputs(choice=[]),
    "half a million characters of choices": outputs(choice=["a" * i for i in range(1, 900)]),
    "a hundred thousand repetitions": outputs(regex="[^x]{1,100000}"),
    "an unknown kind": outputs(regexp="a"),
    "two kinds": outputs(regex="a", choice=["a"]),
}


class Background:
    """A long stream beside the test; `gap` is the longest time between two of its events."""

    def __init__(self, server: Live) -> None:
        self._server = server
        self._stop = threading.Event()
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.gap = 0.0

    def __enter__(self) -> "Background":
        self._thread.start()
        assert self._begun.wait(60)
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join(60)

    def _run(self) -> None:
        request = {"model": "one", "prompt": "x", "max_tokens": 900, "ignore_eos": True, "stream": True}
        with self._server.client() as client:
            while not self._stop.is_set():
                with client.stream("POST", COMPLETIONS, json=request) as response:
                    last = time.monotonic()
                    for _ in response.iter_lines():
                        now = time.monotonic()
                        if self._begun.is_set():
                            self.gap = max(self.gap, now - last)
                        last = now
                        self._begun.set()
                        if self._stop.is_set():
                            return


@pytest.mark.parametrize("stream", [False, True])
def test_c04_a_constraint_that_cannot_be_used_is_refused_and_the_engine_lives_on(
    server: Live, client: httpx.Client, stream: bool
) -> None:
    processes = server.engine_processes()
    assert processes
    good = schema({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
    assert chat(client, **good).status_code == 200
    slow: dict[str, float] = {}
    with Background(server) as background:
        for name, constraint in BAD.items():
            began = time.monotonic()
            error = error_of(chat(client, stream=stream, **constraint))
            slow[name] = time.monotonic() - began
            assert error["type"] == "invalid_request_error", name
            assert client.get("/health").status_code == 200
    assert max(slow.values()) < 20, slow
    assert background.gap < 10
    assert complete(client).status_code == 200
    assert server.engine_processes() == processes


@pytest.mark.parametrize("maximum", [9007199254740993, 2**63, -(2**63) - 1, 2**80])
def test_c04_a_bound_that_no_float_holds_is_kept_or_refused(server: Live, client: httpx.Client, maximum: int) -> None:
    processes = server.engine_processes()
    answer = chat(client, max_tokens=30, **schema({"type": "integer", "maximum": maximum}))
    if answer.status_code != 200:
        assert error_of(answer)["type"] == "invalid_request_error"
    assert complete(client).status_code == 200
    assert server.engine_processes() == processes


def test_c04_a_native_request_with_such_a_constraint_is_refused_too(client: httpx.Client) -> None:
    body = {
        "model_id": "one",
        "messages": [{"role": "user", "content": "x"}],
        "response_format": {"type": "json_schema", "json_schema": {"$ref": "#"}},
    }
    answer = client.post("/v1/inference/chat-completion", json=body)
    assert answer.status_code == 400, answer.text
    assert "response_format" in answer.text


COUNT = [{"role": "user", "content": "Count from one to one thousand, in words."}]
LONG: dict[str, Any] = {"model": "one", "max_tokens": 900, "ignore_eos": True}
ASKING: tuple[tuple[str, dict[str, Any]], ...] = (
    (CHAT, {**LONG, "messages": SAID, "stream": True}),
    (CHAT, {**LONG, "messages": SAID}),
    (COMPLETIONS, {**LONG, "prompt": "x", "n": 4}),
    (COMPLETIONS, {**LONG, "prompt": "x", "stream": True}),
    ("/v1/responses", {"model": "one", "input": "x", "max_output_tokens": 900, "ignore_eos": True, "stream": True}),
    ("/v1/messages", {"model": "one", "messages": COUNT, "max_tokens": 900, "stream": True}),
    (
        "/v1/inference/chat-completion",
        {"model_id": "one", "messages": COUNT, "stream": True, "sampling_params": {"max_tokens": 900}},
    ),
)


@pytest.mark.parametrize(("path", "request_"), ASKING)
def test_c06_the_engine_stops_when_a_client_leaves(server: Live, path: str, request_: dict[str, Any]) -> None:
    async def leave() -> None:
        async with httpx.AsyncClient(base_url=server.url, timeout=httpx.Timeout(30, read=1)) as client:
            try:
                async with client.stream("POST", path, json=request_) as response:
                    assert response.status_code == 200
                    async with asyncio.timeout(1):
                        async for _ in response.aiter_bytes():
                            pass
            except (TimeoutError, httpx.ReadTimeout):
                pass

    async def all_leave() -> None:
        await asyncio.gather(*(leave() for _ in range(20)))

    asyncio.run(all_leave())
    eventually(lambda: server.gauge("vllm:num_requests_running") == 0, 2)
    assert server.gauge("vllm:num_requests_waiting") == 0
    with server.client() as client:
        assert complete(client).status_code == 200


@pytest.mark.parametrize(
    ("path", "more"),
    [
        *itertools.product([CHAT, COMPLETIONS], [{}, {"n": 2}, {"stop": [" the", "e"]}]),
        (CHAT, {"tools": [TOOL], "tool_choice": "required"}),
    ],
)
def test_c07_usage_comes_once_and_only_when_asked_for(client: httpx.Client, path: str, more: dict[str, Any]) -> None:
    said = {"messages": SAID} if path == CHAT else {"prompt": "Once upon"}
    # Several choices of a greedy answer would be the same: vLLM refuses that.
    request = {**said, "max_tokens": 12, "temperature": int("n" in more), "seed": 1, "ignore_eos": True, **more}
    whole = client.post(path, json={"model": "one", **request}).json()["usage"]
    found = events(client, path, stream_options={"include_usage": True}, **request)
    assert found[-1]["choices"] == []
    streamed = found[-1]["usage"]
    assert all(event.get("usage") is None for event in found[:-1])
    for name in ("prompt_tokens", "completion_tokens", "total_tokens"):
        assert streamed[name] == whole[name], name
    for options in (None, {}, {"include_usage": False}):
        given = {} if options is None else {"stream_options": options}
        assert all(event.get("usage") is None for event in events(client, path, **given, **request))
    without = client.post(path, json={"model": "one", "stream_options": {"include_usage": True}, **request})
    assert error_of(without)["param"] == "stream_options"


@pytest.mark.parametrize("path", [CHAT, COMPLETIONS])
@pytest.mark.parametrize("more", [{}, {"n": 2}, {"logprobs": True}, {"max_tokens": 9}])
def test_c10_characters_are_whole_in_streams(client: httpx.Client, path: str, more: dict[str, Any]) -> None:
    said: dict[str, Any] = {"messages": SAID} if path == CHAT else {"prompt": "x"}
    if path == COMPLETIONS and "logprobs" in more:
        more = {"logprobs": 1}
    request = {
        **said,
        "max_tokens": 200,
        "temperature": int("n" in more),
        "seed": 3,
        **outputs(choice=[CHOICE]),
        **more,
    }
    whole = client.post(path, json={"model": "one", **request}).json()["choices"]
    found = events(client, path, **request)
    for choice in whole:
        text = choice.get("text") or choice.get("message", {}).get("content")
        assert texts(found, choice["index"]) == text
        if "max_tokens" not in more:
            assert text == CHOICE
    if path == CHAT and more.get("logprobs"):
        tokens = [
            entry
            for event in found
            for one in event["choices"]
            for entry in (one["logprobs"] or {}).get("content") or []
        ]
        assert b"".join(bytes(entry["bytes"]) for entry in tokens).decode().startswith(CHOICE)


def test_c13_what_is_too_long_is_refused_with_true_numbers_and_leaves_nothing(
    server: Live, client: httpx.Client
) -> None:
    cache = server.gauge("vllm:kv_cache_usage_perc")
    long = "word " * (LENGTH + 500)
    for stream in (False, True):
        for error in (
            error_of(complete(client, prompt=long, stream=stream)),
            error_of(complete(client, prompt=[7] * (LENGTH - 8), max_tokens=100, stream=stream)),
            error_of(chat(client, messages=[{"role": "user", "content": long}], stream=stream)),
            error_of(chat(client, max_tokens=None, max_completion_tokens=LENGTH + 1, stream=stream)),
        ):
            assert str(LENGTH) in error["message"]
            assert "-" not in [word[0] for word in error["message"].split() if word[-1:].isdigit()]
            assert error["param"]
    exact = complete(client, prompt=[7] * (LENGTH - 8), max_tokens=8, ignore_eos=True)
    assert exact.json()["usage"]["completion_tokens"] == 8
    rest = client.post(CHAT, json={"model": "one", "messages": SAID, "ignore_eos": True})
    assert rest.json()["usage"]["total_tokens"] == LENGTH
    for _ in range(200):
        error_of(complete(client, prompt=long))
    eventually(lambda: server.gauge("vllm:num_requests_running") == 0, 5)
    assert server.gauge("vllm:num_requests_waiting") == 0
    assert server.gauge("vllm:kv_cache_usage_perc") == pytest.approx(cache, abs=0.01)


def test_an_error_has_the_headers_for_other_origins_that_an_answer_has(client: httpx.Client) -> None:
    def heads(**more: Any) -> tuple[int, dict[str, str]]:
        body = {"model": "one", "messages": SAID, "max_tokens": 2, **more}
        answer = client.post(CHAT, json=body, headers={"origin": "https://example.org"})
        return answer.status_code, {
            name: value for name, value in answer.headers.items() if name == "vary" or name.startswith("access-control")
        }

    status, wanted = heads()
    assert (status, wanted) == (200, {"vary": "Origin"})
    for more in ({"model": "none"}, {"max_tokens": LENGTH + 1}, {"max_tokens": LENGTH + 1, "stream": True}):
        status, found = heads(**more)
        assert (status >= 400, found) == (True, wanted)
