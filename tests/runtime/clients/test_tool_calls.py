"""Tool calls through the real engine and vLLM's real parser: a grammar makes a random model write what a test wants, in
other tokens for each seed, so that calls are cut at ever other places."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests import models
from tests.support.live import live

pytestmark = pytest.mark.full
SEEDS = range(6)
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
    for name in ("now", "f", "g")
]
NOW = '<tool_call>{"name":"now","arguments":{}}</tool_call>'
QUOTED = '{"q":"a \\"quoted\\" {brace} \\u00e9","n":1.50,"l":[1,[2]]}'
ONE = f'<tool_call>{{"name":"f","arguments":{QUOTED}}}</tool_call>'
TWO = (
    'some words <tool_call>{"name":"f","arguments":{"q":"x"}}</tool_call>'
    '<tool_call>{"name":"g","arguments":{"y":[]}}</tool_call>'
)
CUT = '<tool_call>{"name":"f","arguments":{"q":"cut off by length and more and more words"}}</tool_call>'
MALFORMED = '<tool_call>{"name":"f","arguments":{"q":}}</tool_call>'


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    options = ["--tool-call-parser=hermes"]
    with (
        live(models.tiny(), tmp_path_factory.mktemp("tools"), ["--max-model-len=1024"], options) as server,
        server.client() as found,
    ):
        yield found


def asked(text: str, seed: int, **more: Any) -> dict[str, Any]:
    """A request whose answer is this text."""
    return {
        "model": "one",
        "messages": [{"role": "user", "content": "time?"}],
        "tools": TOOLS,
        "tool_choice": "auto",
        "structured_outputs": {"choice": [text]},
        "temperature": 1.0,
        "seed": seed,
        "max_tokens": 400,
        **more,
    }


def whole(client: httpx.Client, body: dict[str, Any]) -> dict[str, Any]:
    answer = client.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text
    choice = answer.json()["choices"][0]
    calls = [call["function"] for call in choice["message"].get("tool_calls") or []]
    return {"text": choice["message"]["content"] or "", "calls": calls, "finish": choice["finish_reason"]}


def streamed(client: httpx.Client, body: dict[str, Any]) -> dict[str, Any]:
    """The stream put together; checks on the way that id and name of each call come once."""
    text, finish = "", None
    calls: dict[int, dict[str, str]] = {}
    with client.stream("POST", "/v1/chat/completions", json={**body, "stream": True}) as response:
        assert response.status_code == 200
        lines = [line.removeprefix("data: ") for line in response.iter_lines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    for line in lines[:-1]:
        chunk = json.loads(line)
        assert "error" not in chunk, chunk
        choice = chunk["choices"][0]
        text += choice["delta"].get("content") or ""
        finish = choice["finish_reason"] or finish
        for piece in choice["delta"].get("tool_calls") or []:
            function = piece.get("function") or {}
            if piece["index"] in calls:
                assert not piece.get("id") and not function.get("name"), piece
            else:
                assert piece["id"] and function["name"], piece
                calls[piece["index"]] = {"name": function["name"], "arguments": ""}
            calls[piece["index"]]["arguments"] += function.get("arguments") or ""
    return {"text": text, "calls": [calls[number] for number in sorted(calls)], "finish": finish}


def read(found: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(call["name"], json.loads(call["arguments"])) for call in found["calls"]]


@pytest.mark.parametrize(
    ("text", "calls", "words"),
    [
        (NOW, [("now", {})], ""),
        (ONE, [("f", json.loads(QUOTED))], ""),
        (TWO, [("f", {"q": "x"}), ("g", {"y": []})], "some words"),
    ],
    ids=["no arguments", "quotes and braces", "two after words"],
)
def test_a_call_is_the_same_whole_and_streamed_however_it_is_cut(
    client: httpx.Client, text: str, calls: list[tuple[str, Any]], words: str
) -> None:
    for seed in SEEDS:
        body = asked(text, seed)
        for found in (whole(client, body), streamed(client, body), streamed(client, body)):
            assert read(found) == calls, (seed, found)
            assert found["finish"] == "tool_calls"
            assert found["text"].strip() == words


def test_a_call_that_is_cut_off_ends_properly_and_says_that_room_was_short(client: httpx.Client) -> None:
    for seed in SEEDS:
        body = asked(CUT, seed, max_tokens=25)
        assert whole(client, body)["finish"] == "length"
        assert streamed(client, body)["finish"] == "length"


def test_a_malformed_call_is_text_or_a_call_but_never_a_broken_stream(client: httpx.Client) -> None:
    for seed in SEEDS:
        body = asked(MALFORMED, seed)
        assert whole(client, body)["finish"] in ("stop", "tool_calls")
        assert streamed(client, body)["finish"] in ("stop", "tool_calls")


def native(client: httpx.Client, text: str, *, stream: bool) -> dict[str, Any]:
    """A chat on the Llama Stack route whose answer is this text; put together where it is a stream."""
    body = {
        "model_id": "one",
        "messages": [{"role": "user", "content": "time?"}],
        "tools": [{"tool_name": name} for name in ("now", "f", "g")],
        "response_format": {"type": "grammar", "bnf": f"root ::= {json.dumps(text)}"},
        "sampling_params": {"strategy": {"type": "top_p", "temperature": 1.0}, "max_tokens": 400},
        "stream": stream,
    }
    answer = client.post("/v1/inference/chat-completion", json=body)
    assert answer.status_code == 200, answer.text
    if not stream:
        message = answer.json()["completion_message"]
        calls, reason = message["tool_calls"], message["stop_reason"]
        words = message["content"]
    else:
        events = [json.loads(line.removeprefix("data: "))["event"] for line in answer.text.split("\n\n") if line]
        deltas = [event["delta"] for event in events]
        calls = [one["tool_call"] for one in deltas if one.get("parse_status") == "succeeded"]
        failed = [one["tool_call"] for one in deltas if one.get("parse_status") == "failed"]
        words = "".join([one["text"] for one in deltas if one["type"] == "text"] + failed)
        reason = events[-1]["stop_reason"]
    return {"calls": [(call["tool_name"], call["arguments"]) for call in calls], "words": words.strip(), "stop": reason}


@pytest.mark.parametrize("text", [NOW, ONE, TWO, MALFORMED], ids=["no arguments", "quotes", "two", "malformed"])
def test_the_llama_stack_route_tells_the_same_calls_in_both_ways(client: httpx.Client, text: str) -> None:
    found = native(client, text, stream=False)
    for _ in SEEDS:
        assert native(client, text, stream=True) == native(client, text, stream=False) == found
    if text is not MALFORMED:
        assert found["stop"] == "end_of_message" and "<tool_call>" not in found["words"]
