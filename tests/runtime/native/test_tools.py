"""Tools: what is offered, what is called."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.native.played import COUNT, Answer, Native, chat, native, piece

USER = {"role": "user", "content": "What is the weather in Rome?"}
WEATHER = {
    "tool_name": "get_weather",
    "description": "Weather of a place.",
    "parameters": {
        "place": {"param_type": "str", "description": "A town."},
        "days": {"param_type": "int", "required": False, "default": 1},
        "hours": {"param_type": "list[int]", "required": False},
    },
}
NAMED = {"type": "function", "function": {"name": "get_weather"}}


def call(name: str = "get_weather", arguments: str | None = '{"place": "Rome"}', **more: Any) -> dict[str, Any]:
    return {"id": "call-1", "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def made(number: int, name: str | None = None, arguments: str | None = None) -> dict[str, Any]:
    """A piece of a call in a stream."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {"index": number, "function": function, **({"id": f"call-{number}"} if name else {})}


@pytest.fixture
async def stack(tmp_path: Path) -> AsyncIterator[Native]:
    async with native(tmp_path) as found:
        found.script.always(Answer(chat()))
        yield found


async def ask(stack: Native, **more: Any) -> tuple[int, Any]:
    return await stack.post("chat-completion", {"messages": [USER], "tools": [WEATHER], **more})


async def events(stack: Native, *pieces: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    stack.script.always(Answer(events=[*pieces, COUNT]))
    found = await stack.stream("chat-completion", {"messages": [USER], "tools": [WEATHER], **more})
    return [one["event"] for one in found]


def told(found: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """Status and content of each delta of a call."""
    deltas = [event["delta"] for event in found]
    return [(delta["parse_status"], delta["tool_call"]) for delta in deltas if delta["type"] == "tool_call"]


async def test_a_tools_parameters_become_a_json_schema(stack: Native) -> None:
    await ask(stack)
    assert stack.script.last["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "get_weather",
                "description": "Weather of a place.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "place": {"type": "string", "description": "A town."},
                        "days": {"type": "integer", "default": 1},
                        "hours": {"type": "array", "items": {"type": "integer"}},
                    },
                    "required": ["place"],
                },
            },
        }
    ]


LIMITED: dict[str, Any] = {
    "unit": {"param_type": "str", "title": "Unit", "enum": ["C", "F"]},
    "hours": {"param_type": "list", "items": {"type": "integer", "minimum": 0}},
    "place": {"param_type": "object", "properties": {"town": {"type": "string"}}},
}


async def test_what_a_parameter_s_values_are_held_to_reaches_the_engine(stack: Native) -> None:
    await ask(stack, tools=[{"tool_name": "f", "parameters": LIMITED}])
    assert stack.script.last["tools"][0]["function"]["parameters"]["properties"] == {
        "unit": {"type": "string", "title": "Unit", "enum": ["C", "F"]},
        "hours": {"type": "array", "items": {"type": "integer", "minimum": 0}},
        "place": {"type": "object", "properties": {"town": {"type": "string"}}},
    }


def deep(levels: int) -> dict[str, Any]:
    """Lists in lists."""
    found: dict[str, Any] = {"type": "integer"}
    for _ in range(levels):
        found = {"type": "array", "items": found}
    return found


@pytest.mark.parametrize(
    ("tool", "field"),
    [
        ({"strict": True}, "strict"),
        ({"input_schema": {"type": "object"}}, "input_schema"),
        ({"parameters": {"a": {"param_type": "int", "minimum": 1}}}, "minimum"),
        ({"parameters": {"a": {"param_type": "str", "enum": []}}}, "enum"),
        ({"parameters": {"a": {"param_type": "str", "items": {"type": "string"}}}}, "tools[0].parameters.a.items"),
        ({"parameters": {"a": {"param_type": "list[int]", "items": {}}}}, "tools[0].parameters.a.items"),
        ({"parameters": {"a": {"param_type": "list", "properties": {}}}}, "tools[0].parameters.a.properties"),
    ],
)
async def test_a_member_of_a_tool_that_would_have_no_effect_is_refused_by_name(
    stack: Native, tool: dict[str, Any], field: str
) -> None:
    status, body = await ask(stack, tools=[{"tool_name": "f", **tool}])
    assert status == 400
    found = body.get("detail") or [part for error in body["error"]["detail"]["errors"] for part in error["loc"]]
    assert field in found
    assert not stack.script.asked


@pytest.mark.parametrize(
    ("parameter", "field"),
    [
        ({"param_type": "list", "items": {"enum": 5}}, "items.enum"),
        ({"param_type": "list", "items": {"enum": "abc"}}, "items.enum"),
        ({"param_type": "list", "items": {"type": 5}}, "items.type"),
        ({"param_type": "list", "items": {"items": "integer"}}, "items.items"),
        ({"param_type": "object", "properties": {"b": {"properties": [1]}}}, "properties.b.properties"),
        ({"param_type": "list[" * 5_000 + "int" + "]" * 5_000}, "param_type"),
        ({"param_type": "list", "items": deep(50)}, "items.items"),
    ],
)
async def test_what_is_in_a_parameter_and_cannot_be_read_is_refused_by_name(
    stack: Native, parameter: dict[str, Any], field: str
) -> None:
    status, body = await ask(stack, tools=[{"tool_name": "f", "parameters": {"a": parameter}}])
    assert status == 400
    assert f"tools[0].parameters.a.{field}" in body["detail"]
    assert not stack.script.asked


@pytest.mark.parametrize("choice", ["required", "get_weather"])
async def test_the_arguments_of_a_forced_call_are_held_to_their_schema(stack: Native, choice: str) -> None:
    await ask(stack, tool_config={"tool_choice": choice})
    assert [tool["function"]["strict"] for tool in stack.script.last["tools"]] == [True]


async def test_a_tool_without_parameters_takes_none_and_a_built_in_one_has_its_own(stack: Native) -> None:
    await ask(stack, tools=[{"tool_name": "now", "parameters": None}, {"tool_name": "brave_search"}])
    now, search = [tool["function"] for tool in stack.script.last["tools"]]
    assert now == {"name": "now", "parameters": {"type": "object", "properties": {}}}
    assert search["parameters"]["required"] == ["query"]


@pytest.mark.parametrize("kind", ["date", "list[date]", "int[str]", ""])
async def test_a_type_that_is_unknown_is_400(stack: Native, kind: str) -> None:
    status, body = await ask(stack, tools=[{"tool_name": "f", "parameters": {"a": {"param_type": kind}}}])
    assert status == 400
    assert "tools[0].parameters.a.param_type" in body["detail"]


@pytest.mark.parametrize(
    ("request_part", "choice"),
    [
        ({}, "auto"),
        ({"tool_choice": "auto"}, "auto"),
        ({"tool_config": {"tool_choice": "required"}}, "required"),
        ({"tool_choice": "required", "tool_config": {"tool_choice": "required"}}, "required"),
        ({"tool_config": {"tool_choice": "get_weather"}}, NAMED),
        ({"tool_config": {"tool_choice": "none"}}, None),
    ],
)
async def test_every_tool_choice_reaches_the_engine(
    stack: Native, request_part: dict[str, Any], choice: str | None
) -> None:
    status, _ = await ask(stack, **request_part)
    assert status == 200
    assert stack.script.last.get("tool_choice") == choice
    assert ("tools" in stack.script.last) == (choice is not None)


@pytest.mark.parametrize(
    ("request_part", "words"),
    [
        ({"tool_config": {"tool_choice": "other"}}, "'other'"),
        ({"tool_choice": "auto", "tool_config": {"tool_choice": "none"}}, "tool_config.tool_choice"),
        ({"tool_prompt_format": "json", "tool_config": {"tool_prompt_format": "python_list"}}, "tool_prompt_format"),
        ({"tool_prompt_format": "xml"}, "tool_prompt_format"),
        ({"tool_config": {"system_message_behavior": "replace"}}, "system_message_behavior"),
        ({"tools": [], "tool_choice": "required"}, "needs tools"),
        ({"tools": [WEATHER, WEATHER]}, "twice"),
    ],
)
async def test_a_choice_that_cannot_be_kept_is_400(stack: Native, request_part: dict[str, Any], words: str) -> None:
    status, body = await ask(stack, **request_part)
    assert status == 400
    assert words in body["detail"]
    assert not stack.script.asked


async def test_a_prompt_format_has_no_effect_and_the_answer_says_so(stack: Native) -> None:
    body = {"model_id": "one", "messages": [USER], "tools": [WEATHER], "tool_prompt_format": "json"}
    answer = await stack.server.client.post("/v1/inference/chat-completion", json=body)
    assert answer.status_code == 200
    assert "tool_prompt_format" in answer.headers["x-arriero-note"]


async def test_without_tools_a_system_message_may_replace_what_is_not_there(stack: Native) -> None:
    status, _ = await ask(stack, tools=[], tool_config={"system_message_behavior": "replace"})
    assert status == 200
    assert "tools" not in stack.script.last


async def test_calls_are_part_of_the_message_and_end_it(stack: Native) -> None:
    calls = [call(), call(arguments='{"place": "Oslo"}', id="call-2"), call(arguments="", id="call-3")]
    stack.script.always(Answer(chat(content=None, finish="tool_calls", tool_calls=calls)))
    _, body = await ask(stack)
    message = body["completion_message"]
    assert (message["content"], message["stop_reason"]) == ("", "end_of_message")
    assert message["tool_calls"] == [
        {
            "call_id": f"call-{number}",
            "tool_name": "get_weather",
            "arguments": json.loads(text),
            "arguments_json": text,
        }
        for number, text in ((1, '{"place": "Rome"}'), (2, '{"place": "Oslo"}'), (3, "{}"))
    ]


@pytest.mark.parametrize(
    "bad", [call(name="rm"), call(arguments='{"place": '), call(arguments="[1]"), call(arguments="5")]
)
async def test_a_call_that_cannot_be_made_is_text_in_both_ways(stack: Native, bad: dict[str, Any]) -> None:
    stack.script.always(Answer(chat(content="See: ", finish="tool_calls", tool_calls=[bad])))
    _, body = await ask(stack)
    message = body["completion_message"]
    assert (message["tool_calls"], message["stop_reason"]) == ([], "end_of_turn")
    text = message["content"].removeprefix("See: ")
    assert text.startswith(f'{{"name": "{bad["function"]["name"]}", "arguments": ')
    found = await events(stack, piece(content="See: "), piece("tool_calls", tool_calls=[{**bad, "index": 0}]))
    assert told(found)[-1] == ("failed", text)
    assert found[-1]["stop_reason"] == "end_of_turn"


CUT = [
    [made(0, "get_weather")],
    # The engine's parsers complete what they have: nothing shows that Rome is half of a name.
    [made(0, "get_weather"), made(0, None, '{"place": "Rom"}')],
    [made(0, "get_weather", '{"place": ')],
]


@pytest.mark.parametrize("pieces", CUT, ids=["its name alone", "completed", "half"])
async def test_a_call_in_which_the_answer_ran_out_of_room_is_text_in_both_ways(
    stack: Native, pieces: list[dict[str, Any]]
) -> None:
    chunks = [piece(content="See: "), *(piece(tool_calls=[one]) for one in pieces), piece("length")]
    found = await events(stack, *chunks)
    statuses = [status for status, _ in told(found)]
    assert (statuses[0], statuses[-1], "succeeded" in statuses) == ("started", "failed", False)
    assert found[-1]["stop_reason"] == "out_of_tokens"
    _, body = await ask(stack)
    message = body["completion_message"]
    assert (message["tool_calls"], message["stop_reason"]) == ([], "out_of_tokens")
    arguments = "".join(one["function"].get("arguments", "") for one in pieces)
    assert message["content"] == 'See: {"name": "get_weather", "arguments": ' + arguments


async def test_calls_that_had_ended_before_the_room_did_are_calls(stack: Native) -> None:
    first, second = made(0, "get_weather", '{"place": "Rome"}'), made(1, "get_weather", '{"place": "O"}')
    await events(stack, piece(tool_calls=[first]), piece("length", tool_calls=[second]))
    message = (await ask(stack))[1]["completion_message"]
    assert [call["call_id"] for call in message["tool_calls"]] == ["call-0"]
    assert (message["content"], message["stop_reason"]) == (
        '{"name": "get_weather", "arguments": {"place": "O"}',
        "out_of_tokens",
    )
    await events(stack, piece(tool_calls=[first]), piece("length", content=" And then"))
    message = (await ask(stack))[1]["completion_message"]
    assert (len(message["tool_calls"]), message["content"]) == (1, " And then")


async def test_a_call_is_streamed_as_it_comes_and_succeeds_at_the_end(stack: Native) -> None:
    pieces = [
        piece(content="Let me see."),
        piece(tool_calls=[made(0, "get_weather", "")]),
        piece(tool_calls=[made(0, None, '{"place":')]),
        piece("tool_calls", tool_calls=[made(0, None, ' "Rome"}')]),
    ]
    found = await events(stack, *pieces)
    assert told(found) == [
        ("started", ""),
        ("in_progress", '{"place":'),
        ("in_progress", ' "Rome"}'),
        (
            "succeeded",
            {
                "call_id": "call-0",
                "tool_name": "get_weather",
                "arguments": {"place": "Rome"},
                "arguments_json": '{"place": "Rome"}',
            },
        ),
    ]
    assert found[-1]["stop_reason"] == "end_of_message"


async def test_calls_that_are_mixed_in_the_stream_are_kept_apart(stack: Native) -> None:
    pieces = [
        piece(tool_calls=[made(0, "get_weather"), made(1, "get_weather")]),
        piece(tool_calls=[made(1, None, '{"place": "Oslo"'), made(0, None, '{"place": "Rome"')]),
        piece("stop", tool_calls=[made(0, None, "}"), made(1, None, "}")]),
    ]
    found = told(await events(stack, *pieces, tool_config={"tool_choice": "get_weather"}))
    good = [one for status, one in found if status == "succeeded"]
    assert [(one["call_id"], one["arguments"]["place"]) for one in good] == [("call-0", "Rome"), ("call-1", "Oslo")]
    first = ["started", "in_progress", "in_progress", "succeeded"]
    assert [status for status, _ in found] == [*first, "started", "in_progress", "succeeded"]


async def test_a_call_without_arguments_and_one_whose_stream_names_no_finish_succeed(stack: Native) -> None:
    found = await events(stack, piece(tool_calls=[made(0, "get_weather")]))
    assert [(status, one and one["arguments"]) for status, one in told(found)] == [("started", ""), ("succeeded", {})]
    assert found[-1]["stop_reason"] == "end_of_message"


async def test_a_whole_answer_with_tools_is_read_as_its_stream_is(stack: Native) -> None:
    await ask(stack)
    assert stack.script.last["stream"] is True
    await ask(stack, tool_config={"tool_choice": "none"})
    assert "stream" not in stack.script.last


async def test_the_engines_refusal_of_tools_is_400_whole_and_streamed(stack: Native) -> None:
    stack.script.always(Answer({"error": {"message": "no parser", "code": 400}}, 400))
    assert await ask(stack) == (400, {"detail": "Invalid value: no parser"})
    assert await ask(stack, stream=True) == (400, {"detail": "Invalid value: no parser"})


async def test_where_a_parser_is_set_is_told_to_who_lacks_one(stack: Native) -> None:
    stack.script.always(Answer({"error": {"message": "requires --tool-call-parser to be set"}}, 400))
    _, body = await ask(stack)
    assert "spec.engine.toolCallParser" in body["detail"]


async def test_an_error_in_the_middle_of_calls_is_an_error_for_the_whole_answer(stack: Native) -> None:
    dead = {"error": {"message": "dead", "code": 500}}
    stack.script.always(Answer(events=[piece(tool_calls=[made(0, "get_weather")]), dead]))
    assert await ask(stack) == (500, {"detail": "dead"})


async def test_calls_and_answers_of_earlier_turns_reach_the_engine(stack: Native) -> None:
    one = {"call_id": "call-1", "tool_name": "get_weather", "arguments": {"place": "Rome"}, "arguments_json": None}
    two = {"call_id": "call-2", "tool_name": "brave_search", "arguments": '{"query": "Rome"}'}
    assistant = {"role": "assistant", "content": "", "stop_reason": "end_of_message", "tool_calls": [one, two]}
    answer = {"role": "tool", "call_id": "call-1", "tool_name": "get_weather", "content": "Sunny."}
    await ask(stack, messages=[USER, assistant, answer])
    assert stack.script.last["messages"][1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call-1",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"place": "Rome"}'},
                },
                {
                    "id": "call-2",
                    "type": "function",
                    "function": {"name": "brave_search", "arguments": '{"query": "Rome"}'},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "call-1", "content": "Sunny."},
    ]


async def test_arguments_of_an_earlier_call_that_are_no_object_are_400(stack: Native) -> None:
    bad = {"call_id": "call-1", "tool_name": "get_weather", "arguments": "Rome"}
    status, body = await ask(stack, messages=[USER, {"role": "assistant", "content": "", "tool_calls": [bad]}])
    assert status == 400
    assert "messages[1].tool_calls[0].arguments" in body["detail"]


@pytest.mark.parametrize("arguments", ['{"place": NaN}', '{"place": "\\ud800"}', '{"place": 1e999}'])
async def test_arguments_that_cannot_be_sent_on_are_text(stack: Native, arguments: str) -> None:
    stack.script.always(Answer(chat(content=None, finish="tool_calls", tool_calls=[call(arguments=arguments)])))
    status, body = await ask(stack)
    assert status == 200
    assert body["completion_message"]["tool_calls"] == []
    assert arguments in body["completion_message"]["content"]
