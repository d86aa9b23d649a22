"""llama-stack-client, of the API's own time and the newest that has it, against the real engine: all of its calls."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import models
from tests.cluster.images import environment
from tests.support.live import Live, live

PROGRAM = Path(__file__).with_name("calls.py")
LOCKS = ("clients.txt", "clients-newest.txt")
pytestmark = pytest.mark.full
USER = {"role": "user", "content": "What is the capital of France?"}


def called(server: Live, lock: str, kind: str) -> dict[str, Any]:
    """What the client's calls gave."""
    done = subprocess.run(
        [environment.PYTHON, PROGRAM, server.url, kind],
        env=environment.python_with(environment.clients(lock)),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module", params=["Template", "LlamaStack"])
def chat_format(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def server(chat_format: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("text")
    # A random model would fill the answer with the spaces that JSON allows.
    args = [
        "--max-model-len=2048",
        '--structured-outputs-config={"backend": "xgrammar", "disable_any_whitespace": true}',
    ]
    with live(models.llama3(), folder, args, [f"--chat-format={chat_format}"]) as found:
        yield found


@pytest.fixture(scope="module", params=LOCKS)
def found(request: pytest.FixtureRequest, server: Live) -> dict[str, Any]:
    return called(server, request.param, "text")


def joined(events: list[dict[str, Any]]) -> str:
    deltas = [event["event"]["delta"] for event in events]
    return "".join(delta["text"] for delta in deltas if delta["type"] == "text")


def test_what_is_served_is_told(found: dict[str, Any]) -> None:
    assert [model["identifier"] for model in found["models"]] == ["one", "chat"]
    assert (found["model"]["identifier"], found["model"]["model_type"]) == ("one", "llm")
    assert found["health"]["status"] == "OK" and found["version"]["version"]
    assert found["provider"]["provider_type"] == "inline::vllm"
    assert found["provider"]["health"]["status"] == "OK"
    assert "/v1/inference/chat-completion" in {route["route"] for route in found["routes"]}
    assert (found["register"]["status"], found["unregister"]["status"]) == (403, 403)


def test_completions_are_the_same_whole_and_streamed(found: dict[str, Any]) -> None:
    whole, chunks = found["completion"], found["completion_stream"]
    assert whole["content"] and whole["stop_reason"] == "out_of_tokens"
    assert "".join(chunk["delta"] for chunk in chunks) == whole["content"]
    assert chunks[-1]["stop_reason"] == whole["stop_reason"]
    assert len(whole["logprobs"]) == 8
    streamed = [one for chunk in chunks for one in chunk["logprobs"] or []]
    assert [set(one["logprobs_by_token"]) for one in streamed] == [
        set(one["logprobs_by_token"]) for one in whole["logprobs"]
    ]


def test_stops_and_schemas_are_kept(found: dict[str, Any]) -> None:
    assert not set("ea ").intersection(found["completion_stop"]["content"])
    assert json.loads(found["completion_schema"]["content"])["town"] in ("Paris", "Rome")
    assert json.loads(found["chat_schema"]["completion_message"]["content"])["town"] in ("Paris", "Rome")


def test_chats_are_the_same_whole_and_streamed(found: dict[str, Any]) -> None:
    message, events = found["chat"]["completion_message"], found["chat_stream"]
    assert message["content"] and message["stop_reason"] == "out_of_tokens"
    assert joined(events) == message["content"]
    kinds = [event["event"]["event_type"] for event in events]
    assert kinds == ["start", *["progress"] * (len(kinds) - 2), "complete"]
    assert events[-1]["event"]["stop_reason"] == message["stop_reason"]
    assert {one["metric"] for one in found["chat"]["metrics"]} == {"prompt_tokens", "completion_tokens", "total_tokens"}
    assert len(found["chat"]["logprobs"]) == 8


def test_a_forced_call_is_a_call_in_both_ways_and_half_of_one_is_none(found: dict[str, Any], chat_format: str) -> None:
    message = found["tool"]["completion_message"]
    deltas = [event["event"]["delta"] for event in found["tool_stream"]]
    told = [delta for delta in deltas if delta["type"] == "tool_call"]
    assert joined(found["tool_stream"]) == ""
    assert found["tool_stream"][-1]["event"]["stop_reason"] == message["stop_reason"]
    if chat_format == "Template":
        # vLLM's grammar of calls allows spaces without end, and a random model fills its room with them.
        assert (message["tool_calls"], message["stop_reason"]) == ([], "out_of_tokens")
        assert message["content"].startswith('{"name": "get_weather", "arguments": ')
        assert [told[0]["parse_status"], told[-1]["parse_status"]] == ["started", "failed"]
        return
    [call] = message["tool_calls"]
    assert (call["tool_name"], message["content"], message["stop_reason"]) == ("get_weather", "", "end_of_message")
    assert call["arguments"]["exact"] in (True, False)
    assert [delta["parse_status"] for delta in told] == ["started", "in_progress", "succeeded"]
    assert told[-1]["tool_call"]["arguments"] == call["arguments"]


def test_a_call_is_whole_or_none_wherever_its_room_ends(server: Live) -> None:
    text = '{"name": "f", "parameters": {"path": "/home/me/old/things", "deep": true}}'
    body: dict[str, Any] = {
        "model_id": "one",
        "messages": [USER],
        "tools": [{"tool_name": "f", "parameters": {"path": {"param_type": "str"}}}],
        "response_format": {"type": "grammar", "bnf": f"root ::= {json.dumps(text)}"},
    }
    arguments = {"path": "/home/me/old/things", "deep": True}
    reasons: list[str] = []
    cut_off: list[int] = []
    with server.client() as client:
        for room in range(1, len(text) + 2):
            answer = client.post(
                "/v1/inference/chat-completion", json={**body, "sampling_params": {"max_tokens": room}}
            )
            message = answer.json()["completion_message"]
            reasons.append(message["stop_reason"])
            calls = [call["arguments"] for call in message["tool_calls"]]
            assert calls in ([], [arguments]), room
            if reasons[-1] == "end_of_message":
                break
            assert reasons[-1] == "out_of_tokens", room
            cut_off += [room] if calls else []
    assert len(reasons) > 5
    assert calls == [arguments]
    # Read strictly, a call is whole already when there was no room for the token that ends the answer.
    assert cut_off in ([], [room - 1])


def test_tools_need_no_flags_and_may_be_switched_off(found: dict[str, Any]) -> None:
    assert found["tool_auto"]["completion_message"]["role"] == "assistant"
    assert found["tool_turn"]["completion_message"]["role"] == "assistant"
    assert all(event["event"]["delta"]["type"] == "text" for event in found["tool_none"])


def test_batches_keep_their_order_and_size(found: dict[str, Any]) -> None:
    assert [one["stop_reason"] for one in found["batch"]["batch"]] == ["out_of_tokens"] * 3
    first, second = found["batch_chat"]["batch"]
    assert first["completion_message"] == second["completion_message"]


def test_the_openai_routes_of_this_client_stream_without_an_end_mark(found: dict[str, Any]) -> None:
    text = found["openai"]["choices"][0]["message"]["content"]
    streamed = [choice["delta"]["content"] or "" for chunk in found["openai_stream"] for choice in chunk["choices"]]
    assert "".join(streamed) == text
    plain = found["openai_completion"]["choices"][0]["text"]
    chunks = [choice["text"] for chunk in found["openai_completion_stream"] for choice in chunk["choices"]]
    assert "".join(chunks) == plain


@pytest.mark.parametrize("name", ["unknown", "unknown_stream", "too_long", "embedding"])
def test_what_cannot_be_answered_is_400_with_words(found: dict[str, Any], name: str) -> None:
    assert found[name]["status"] == 400
    assert found[name]["body"]["detail"].startswith("Invalid value: ")


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    args = ["--runner=pooling", "--max-model-len=512"]
    with live(models.tiny(), tmp_path_factory.mktemp("embeddings"), args) as found:
        yield found


@pytest.mark.parametrize("lock", LOCKS)
def test_embeddings_are_given_and_long_texts_are_cut_only_where_they_may_be(embedder: Live, lock: str) -> None:
    found = called(embedder, lock, "embeddings")
    cat, dog = found["texts"]["embeddings"]
    assert len(cat) == len(dog) > 8 and cat != dog
    assert found["items"]["embeddings"] == [cat]
    assert len(found["start"]["embeddings"]) == len(found["end"]["embeddings"]) == 1
    assert found["start"]["embeddings"][0] != cat
    assert (found["too_long"]["status"], found["no_chat"]["status"]) == (400, 400)
    assert found["model"]["model_type"] == "embedding"
    if "openai" in found:
        assert found["openai"]["data"][0]["embedding"] == pytest.approx(cat)
