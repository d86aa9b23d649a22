"""Raw completions on the wire."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.native.played import COUNT, METRICS, Answer, Native, completion, native, text_piece
from tests.support.eventually import eventually_async

LOGPROBS = {
    "tokens": ["Pa", "ris"],
    "token_logprobs": [-0.5, -2.0],
    "top_logprobs": [{"Pa": -0.5}, {"ri": -0.1, "ris": -2.0}],
    "text_offset": [0, 2],
}
READ_LOGPROBS = [{"logprobs_by_token": {"Pa": -0.5}}, {"logprobs_by_token": {"ri": -0.1, "ris": -2.0}}]


@pytest.fixture
async def stack(tmp_path: Path) -> AsyncIterator[Native]:
    async with native(tmp_path) as found:
        found.script.always(Answer(completion()))
        yield found


async def test_an_answer_has_content_reason_and_the_engines_count_of_tokens(stack: Native) -> None:
    status, body = await stack.post("completion", {"content": "The capital of France is"})
    assert status == 200
    assert body == {"metrics": METRICS, "content": "Paris", "stop_reason": "end_of_turn", "logprobs": None}
    assert stack.script.asked[-1].path == "/v1/completions"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"sampling_params": {"strategy": {"type": "top_p", "temperature": 0}}}, "temperature"),
        ({"sampling_params": {"strategy": {"type": "top_p", "temperature": 1, "top_p": 5}}}, "top_p"),
        ({"sampling_params": {"strategy": {"type": "top_k", "top_k": 0}}}, "top_k"),
        ({"sampling_params": {"strategy": {"type": "nucleus"}}}, "strategy"),
        ({"sampling_params": {"max_tokens": -5}}, "max_tokens"),
        ({"sampling_params": {"repetition_penalty": -3}}, "repetition_penalty"),
        ({"sampling_params": {"stop": ["a", "b", "c", "d", "e"]}}, "stop"),
        ({"sampling_params": {"stop": [""]}}, "stop"),
        ({"sampling_params": {"temperature": 0.5}}, "temperature"),
        ({"logprobs": {"top_k": -1}}, "top_k"),
        ({"response_format": {"type": "json"}}, "response_format"),
        ({"model_id": ""}, "model_id"),
        ({"max_tokens": 5}, "max_tokens"),
    ],
)
async def test_a_value_that_cannot_be_used_is_400_and_its_field_is_named(
    stack: Native, change: dict[str, Any], field: str
) -> None:
    status, body = await stack.post("completion", {"content": "x", **change})
    assert status == 400
    errors = body["error"]["detail"]["errors"]
    assert field in [part for error in errors for part in error["loc"]]
    assert all(error["msg"] and error["type"] for error in errors)
    assert not stack.script.asked


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'{"model_id": "\\ud800", "content": "x"}'])
async def test_a_body_that_is_no_request_is_400(stack: Native, body: bytes) -> None:
    answer = await stack.server.client.post("/v1/inference/completion", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["detail"]["errors"]


async def test_text_items_are_joined_as_they_are_and_an_image_is_400(stack: Native) -> None:
    text = {"type": "text", "text": "ab"}
    await stack.post("completion", {"content": [text, text]})
    assert stack.script.last["prompt"] == "abab"
    await stack.post("completion", {"content": text})
    assert stack.script.last["prompt"] == "ab"
    image = {"type": "image", "image": {"url": {"uri": "https://example.com/a.png"}}}
    status, body = await stack.post("completion", {"content": [text, image]})
    assert status == 400
    assert body["detail"].startswith("Invalid value: content: images")


async def test_response_formats_become_structured_outputs(stack: Native) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    await stack.post("completion", {"content": "x", "response_format": {"type": "json_schema", "json_schema": schema}})
    assert stack.script.last["structured_outputs"] == {"json": schema}
    for bnf in ("root ::= x", {"ebnf": "root ::= x"}):
        await stack.post("completion", {"content": "x", "response_format": {"type": "grammar", "bnf": bnf}})
        assert stack.script.last["structured_outputs"] == {"grammar": "root ::= x"}
    status, body = await stack.post(
        "completion", {"content": "x", "response_format": {"type": "grammar", "bnf": {"rules": []}}}
    )
    assert status == 400
    assert "response_format.bnf" in body["detail"]


async def test_log_probabilities_are_asked_for_only_when_wanted_and_keyed_by_text(stack: Native) -> None:
    stack.script.always(Answer(completion(logprobs=LOGPROBS)))
    _, body = await stack.post("completion", {"content": "x", "logprobs": {"top_k": 1}})
    assert stack.script.last["logprobs"] == 1
    assert body["logprobs"] == READ_LOGPROBS
    await stack.post("completion", {"content": "x", "logprobs": {"top_k": None}})
    assert stack.script.last["logprobs"] == 0
    await stack.post("completion", {"content": "x"})
    assert "logprobs" not in stack.script.last
    await stack.stream("completion", {"content": "x"})
    assert "logprobs" not in stack.script.last


async def test_of_tokens_that_have_the_same_text_the_likelier_counts(stack: Native) -> None:
    same = {"tokens": ["é"], "token_logprobs": [-3.0], "top_logprobs": [{"é": -1.0, "e": -2.0}]}
    stack.script.always(Answer(completion("é", logprobs=same)))
    _, body = await stack.post("completion", {"content": "x", "logprobs": {"top_k": 2}})
    assert body["logprobs"] == [{"logprobs_by_token": {"é": -1.0, "e": -2.0}}]


@pytest.mark.parametrize(
    ("finish", "stop", "reason"),
    [
        ("stop", None, "end_of_turn"),
        ("stop", "1963", "end_of_turn"),
        ("stop", 128009, "end_of_turn"),
        ("stop", 128008, "end_of_message"),
        ("length", None, "out_of_tokens"),
        ("repetition", None, "end_of_turn"),
    ],
)
async def test_why_an_answer_ended_is_told_by_one_map(stack: Native, finish: str, stop: object, reason: str) -> None:
    stack.script.always(Answer(completion(finish=finish, stop_reason=stop)))
    assert (await stack.post("completion", {"content": "x"}))[1]["stop_reason"] == reason
    stack.script.always(Answer(events=[text_piece("a", finish, stop_reason=stop), COUNT]))
    assert (await stack.stream("completion", {"content": "x"}))[-1]["stop_reason"] == reason


@pytest.mark.parametrize("text", ["", None])
async def test_an_answer_without_any_token_is_empty_text(stack: Native, text: Any) -> None:
    stack.script.always(Answer(completion(text)))
    status, body = await stack.post("completion", {"content": "x"})
    assert (status, body["content"], body["stop_reason"]) == (200, "", "end_of_turn")
    for pieces in ([text_piece(text, "stop"), COUNT], [{"choices": []}, COUNT]):
        stack.script.always(Answer(events=pieces))
        [last] = await stack.stream("completion", {"content": "x"})
        assert last == {"metrics": METRICS, "delta": "", "stop_reason": "end_of_turn", "logprobs": None}


async def test_an_answer_that_was_ended_by_force_is_an_error_and_no_reason(stack: Native) -> None:
    stack.script.always(Answer(completion(finish="abort")))
    assert (await stack.post("completion", {"content": "x"}))[0] == 503
    stack.script.always(Answer(events=[text_piece("a"), text_piece("", "abort")]))
    assert (await stack.stream("completion", {"content": "x"}))[-1]["error"]["message"].startswith("503: ")


async def test_a_stream_has_new_text_in_each_event_and_reason_and_count_in_the_last(stack: Native) -> None:
    stack.script.always(Answer(events=[text_piece("Pa"), text_piece(""), text_piece("ris", "length"), COUNT]))
    events = await stack.stream("completion", {"content": "x"})
    assert events == [
        {"metrics": None, "delta": "Pa", "stop_reason": None, "logprobs": None},
        {"metrics": None, "delta": "ris", "stop_reason": None, "logprobs": None},
        {"metrics": METRICS, "delta": "", "stop_reason": "out_of_tokens", "logprobs": None},
    ]
    assert (stack.script.last["stream"], stack.script.last["stream_options"]) == (True, {"include_usage": True})


async def test_log_probabilities_of_text_that_is_held_back_come_with_it(stack: Native) -> None:
    first = {"tokens": ["Pa"], "token_logprobs": [-0.5], "top_logprobs": [{"Pa": -0.5}]}
    second = {"tokens": ["ris"], "token_logprobs": [-2.0], "top_logprobs": [{"ri": -0.1, "ris": -2.0}]}
    events = [text_piece("", logprobs=first), text_piece("Paris", "stop", logprobs=second)]
    stack.script.always(Answer(events=events))
    found = await stack.stream("completion", {"content": "x", "logprobs": {"top_k": 1}})
    assert [event["logprobs"] for event in found] == [READ_LOGPROBS, None]


async def test_an_unknown_name_is_400_also_for_a_stream(stack: Native) -> None:
    for stream in (False, True):
        status, body = await stack.post("completion", {"model_id": "three", "content": "x", "stream": stream})
        assert status == 400
        assert body["detail"].startswith("Invalid value: model 'three' is not served here")


async def test_the_engines_errors_keep_status_and_words(stack: Native) -> None:
    stack.script.always(Answer({"error": {"message": "too long", "code": 400}}, 400))
    assert await stack.post("completion", {"content": "x"}) == (400, {"detail": "Invalid value: too long"})
    stack.script.always(Answer({"error": {"message": "overloaded", "code": 503}}, 503))
    assert await stack.post("completion", {"content": "x", "stream": True}) == (503, {"detail": "overloaded"})


async def test_an_error_before_the_first_text_has_its_own_status_although_the_engine_streams(stack: Native) -> None:
    error = {"error": {"message": "no such grammar", "code": 400}}
    stack.script.always(Answer(events=[error]))
    status, body = await stack.post("completion", {"content": "x", "stream": True})
    assert (status, body) == (400, {"detail": "Invalid value: no such grammar"})


async def test_an_error_in_the_middle_is_an_event_and_the_last_one(stack: Native) -> None:
    stack.script.always(Answer(events=[text_piece("Pa"), {"error": {"message": "dead", "code": 500}}]))
    events = await stack.stream("completion", {"content": "x"})
    assert [event.get("delta") for event in events] == ["Pa", None]
    assert events[-1] == {"error": {"message": "500: dead"}}


async def test_a_stream_that_breaks_off_ends_with_an_error_and_one_without_end_mark_does_not(stack: Native) -> None:
    stack.script.always(Answer(events=[text_piece("Pa")], done=False))
    assert (await stack.stream("completion", {"content": "x"}))[-1]["error"]["message"].startswith("500: ")
    stack.script.always(Answer(events=[text_piece("Pa", "stop")], done=False))
    assert (await stack.stream("completion", {"content": "x"}))[-1]["stop_reason"] == "end_of_turn"
    stack.script.always(Answer(events=[text_piece("Pa")]))
    assert (await stack.stream("completion", {"content": "x"}))[-1]["stop_reason"] == "end_of_turn"


async def test_a_stream_with_nothing_in_it_is_an_empty_answer_where_the_engine_names_its_end_and_else_an_error(
    stack: Native,
) -> None:
    stack.script.always(Answer(events=[]))
    [only] = await stack.stream("completion", {"content": "x"})
    assert (only["delta"], only["stop_reason"]) == ("", "end_of_turn")
    stack.script.always(Answer(events=[], done=False))
    assert (await stack.post("completion", {"content": "x", "stream": True}))[0] == 500


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_leaves_stops_the_engines_work(stack: Native, stream: bool) -> None:
    stack.script.always(Answer(completion(), wait=True))
    asking = asyncio.ensure_future(stack.post("completion", {"content": "x", "stream": stream}))
    await stack.engine.started.wait()
    asking.cancel()
    await eventually_async(lambda: stack.engine.disconnects == 1)
    await eventually_async(lambda: stack.server.serving.dispatcher.in_flight == 0)


async def test_a_request_over_its_time_is_504_in_llama_stacks_form(tmp_path: Path) -> None:
    async with native(tmp_path, extra=["--request-timeout-seconds", "1"]) as stack:
        stack.script.always(Answer(completion(), wait=True))
        for stream in (False, True):
            status, body = await stack.post("completion", {"content": "x", "stream": stream})
            assert status == 504
            assert "requestTimeoutSeconds" in body["detail"]
        await eventually_async(lambda: stack.engine.disconnects == 2)
        await eventually_async(lambda: stack.server.serving.dispatcher.in_flight == 0)


async def test_a_request_id_reaches_the_engine(stack: Native) -> None:
    await stack.post("completion", {"content": "x"}, {"x-request-id": "abc"})
    assert stack.script.asked[-1].headers["x-request-id"] == "abc"


async def test_another_method_is_405_in_llama_stacks_form_and_an_unknown_route_404(stack: Native) -> None:
    wrong = await stack.server.client.get("/v1/inference/completion")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
    assert (await stack.server.client.post("/v1/inference/other", json={})).status_code == 404
