"""The application's errors, as clients get them."""

import json
from typing import Any

import pytest

from arriero_runtime.engine.protocol import STRAIGHT, Message, Receive, Scope, Send
from arriero_runtime.server.told import Told

STREAM = [(b"content-type", b"text/event-stream")]
INTERNAL = {"error": {"message": "Internal server error", "type": "InternalServerError", "param": None, "code": 500}}


async def messages(
    *bodies: bytes,
    status: int = 200,
    headers: list[Any] | None = None,
    request: bytes = b"{}",
    dead: bool = False,
    path: str = "/v1/chat/completions",
    straight: bool = False,
) -> list[Message]:
    """What a client gets of an answer in these pieces, all but the first of which may take the straight way."""
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "http.response.start", "status": status, "headers": headers or []})
        way: Send = scope[STRAIGHT] if straight else send
        for number, body in enumerate(bodies):
            await way({"type": "http.response.body", "body": body, "more_body": number < len(bodies) - 1})

    async def receive() -> Message:
        return {"type": "http.request", "body": request, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await Told(app, lambda: dead)({"method": "POST", "path": path}, receive, send)
    assert [message["type"] for message in sent].count("http.response.start") == 1
    return sent


async def told(*bodies: bytes, **more: Any) -> tuple[int, bytes]:
    """Status and body that a client gets of an answer in these pieces."""
    head, *rest = await messages(*bodies, **more)
    return head["status"], b"".join(message.get("body", b"") for message in rest)


def error(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(body)["error"]
    return found


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "invalid_request_error"), (404, "invalid_request_error"), (429, "rate_limit_error"), (500, "server_error")],
)
async def test_the_type_is_one_that_openais_clients_know(status: int, kind: str) -> None:
    body = json.dumps({"error": {"message": "x", "type": "Bad Request", "param": "body.a.b", "code": status}}).encode()
    code, got = await told(body, status=status)
    assert code == status
    assert error(got) == {"message": "x", "type": kind, "param": "a.b", "code": status}


async def test_a_body_that_is_no_json_is_told_in_the_same_form() -> None:
    code, got = await told(b'{"detail":"There was an error parsing the body"}', status=400)
    assert (code, error(got)["message"]) == (400, "The body cannot be read as JSON.")


async def test_what_a_checking_library_found_is_told_by_field() -> None:
    entry = {"type": "string_type", "loc": "body.model", "msg": "Input should be a valid string", "input": "5"}
    message = f"2 validation errors:\n  {entry}\n  {entry}"
    body = json.dumps({"error": {"message": message, "type": "Bad Request", "param": "body.model", "code": 400}})
    _, got = await told(body.encode(), status=400)
    assert error(got)["message"] == "model: Input should be a valid string"


async def test_a_stream_that_fails_before_it_has_begun_is_an_error() -> None:
    event = b"data: " + json.dumps(INTERNAL).encode() + b"\n\n"
    role = b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n'
    end = b"data: [DONE]\n\n"
    for pieces in ((event, end, b""), (b"", event + end, b""), (role, event, end, b"")):
        code, got = await told(*pieces, headers=STREAM)
        assert (code, error(got)["type"]) == (500, "server_error")


async def test_the_first_event_of_a_stream_is_not_lost() -> None:
    role = b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n'
    for pieces in ((role, b"data: 1\n\n", b""), (role, b""), (role,), (role, role, b"")):
        assert await told(*pieces, headers=STREAM) == (200, b"".join(pieces))


async def test_a_stream_that_fails_later_says_so_in_an_event_and_ends() -> None:
    event = b"data: " + json.dumps(INTERNAL).encode() + b"\n\n"
    code, got = await told(b"data: {}\n\n", event, b"data: [DONE]\n\n", headers=STREAM)
    assert code == 200
    first, second, end, _ = got.split(b"\n\n")
    assert (first, end) == (b"data: {}", b"data: [DONE]")
    assert error(second.removeprefix(b"data: "))["type"] == "server_error"


@pytest.mark.parametrize("stream", [False, True])
async def test_a_constraint_that_the_engine_gave_up_on_is_the_requests_fault(stream: bool) -> None:
    body = json.dumps(INTERNAL).encode()
    pieces = (b"data: " + body + b"\n\n", b"") if stream else (body,)
    status, headers = (200, STREAM) if stream else (500, None)
    request = b'{"response_format": {"type": "json_object"}}'
    code, got = await told(*pieces, status=status, headers=headers, request=request)
    assert (code, error(got)["param"]) == (400, "response_format")
    code, _ = await told(*pieces, status=status, headers=headers, request=b'{"prompt": "response_format"}')
    assert code == 500


TOOL: dict[str, Any] = {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize(
    ("request_", "param"),
    [
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}, None),
        ({"messages": [{"role": "user", "content": '"response_format": {"type": "json_object"}'}]}, None),
        ({"response_format": {"type": "text"}}, None),
        ({"response_format": None}, None),
        ({"response_format": {"type": "json_schema", "json_schema": {}}}, "response_format"),
        ({"structured_outputs": {"regex": None}}, None),
        ({"structured_outputs": {"regex": "a"}}, "structured_outputs"),
        ({"tools": [TOOL]}, None),
        ({"tools": [TOOL], "tool_choice": "auto"}, None),
        ({"tools": [TOOL], "tool_choice": "required"}, "tools"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "f"}}}, "tools"),
        ({"tools": [{"function": {"name": "f", "strict": True}}]}, "tools"),
        ({"tools": [{"type": "function", "name": "f", "strict": True}]}, "tools"),
        ({"tools": [{"function": {"name": "f", "strict": True}}], "tool_choice": "none"}, None),
        ({"input": "x", "text": {"format": {"type": "text"}, "verbosity": "low"}}, None),
        ({"input": "x", "text": {"format": {"type": "json_schema", "schema": {}}}}, "text"),
        (["response_format"], None),
    ],
    ids=str,
)
async def test_what_the_engine_gave_up_is_the_requests_fault_where_it_binds_the_answer_and_else_the_servers(
    request_: Any, param: str | None
) -> None:
    code, got = await told(json.dumps(INTERNAL).encode(), status=500, request=json.dumps(request_).encode())
    assert (code, error(got)["param"]) == ((400, param) if param else (500, None))


async def test_a_dead_engine_is_503_with_a_time_to_try_again() -> None:
    code, got = await told(json.dumps(INTERNAL).encode(), status=500, dead=True)
    assert (code, error(got)["code"]) == (503, 503)


async def test_a_good_answer_passes_unchanged() -> None:
    assert await told(b'{"a":', b"1}") == (200, b'{"a":1}')


@pytest.mark.parametrize("stream", [False, True])
async def test_an_error_keeps_the_headers_that_the_application_gave_its_answer(stream: bool) -> None:
    given = [(b"vary", b"Origin"), (b"access-control-allow-origin", b"*"), (b"x-request-id", b"7")]
    body = json.dumps(INTERNAL if stream else {"error": {"message": "x", "code": 429}}).encode()
    pieces = (b"data: " + body + b"\n\n", b"") if stream else (body,)
    own = STREAM if stream else [(b"Content-Type", b"text/plain"), (b"content-length", b"5"), (b"Retry-After", b"900")]
    said = [*own, (b"etag", b"x"), *given, (b"Vary", b"Accept")]
    head, rest = await messages(*pieces, status=200 if stream else 429, headers=said)
    given[0] = (b"vary", b"Origin, Accept")
    length = str(len(rest["body"])).encode()
    wanted = [*given, (b"content-type", b"application/json"), (b"content-length", length)]
    assert sorted(head["headers"]) == sorted(wanted if stream else [*wanted, (b"retry-after", b"5")])


TROUBLE = {"type": "error", "error": {"type": "internal_error", "message": "1 validation error for Chunk"}}
TROUBLE_EVENT = f"event: error\ndata: {json.dumps(TROUBLE)}\n\n".encode()
START = b"event: message_start\ndata: {}\n\n"
DELTA = b"event: content_block_delta\ndata: {}\n\n"


def message_error(body: bytes) -> tuple[str, str]:
    """Type and message of an error of Anthropic's API."""
    found = json.loads(body)
    assert (set(found), found["type"]) == ({"type", "error"}, "error")
    return found["error"]["type"], found["error"]["message"]


@pytest.mark.parametrize("straight", [False, True])
@pytest.mark.parametrize(
    ("dead", "kind", "words"),
    [(False, "api_error", "Internal server error"), (True, "overloaded_error", "engine has failed")],
)
async def test_an_error_in_a_stream_of_messages_is_no_word_of_the_applications_own_trouble(
    dead: bool, kind: str, words: str, straight: bool
) -> None:
    begun = (START, DELTA)
    code, got = await told(
        *begun, TROUBLE_EVENT, b"", headers=STREAM, dead=dead, path="/v1/messages", straight=straight
    )
    name, _, data = got.removeprefix(b"".join(begun)).decode().removesuffix("\n\n").partition("\ndata: ")
    assert (code, name) == (200, "event: error")
    found, message = message_error(data.encode())
    assert found == kind
    assert words in message


@pytest.mark.parametrize(
    ("dead", "request_", "status", "kind"),
    [
        (False, {}, 500, "api_error"),
        (True, {}, 503, "overloaded_error"),
        (False, {"output_config": {"format": {"type": "json_schema"}}}, 400, "invalid_request_error"),
        (False, {"tools": [{"name": "f"}], "tool_choice": {"type": "any"}}, 400, "invalid_request_error"),
        (False, {"tools": [{"name": "f"}], "tool_choice": {"type": "auto"}}, 500, "api_error"),
        (False, {"tools": [{"name": "f", "strict": True}], "tool_choice": {"type": "none"}}, 500, "api_error"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_messages_that_fail_before_they_have_begun_have_the_status_and_type_of_their_error(
    dead: bool, request_: dict[str, Any], status: int, kind: str, stream: bool
) -> None:
    internal = {"type": "error", "error": {"type": "InternalServerError", "message": "Internal server error"}}
    pieces = (START, TROUBLE_EVENT, b"") if stream else (json.dumps(internal).encode(),)
    more: dict[str, Any] = {"status": 200, "headers": STREAM} if stream else {"status": 500}
    request = json.dumps(request_).encode()
    code, got = await told(*pieces, **more, request=request, dead=dead, path="/v1/messages")
    assert (code, message_error(got)[0]) == (status, kind)


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (422, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (501, "api_error"),
        (503, "overloaded_error"),
        (504, "timeout_error"),
    ],
)
async def test_the_applications_errors_have_the_form_and_types_of_anthropics_api(
    path: str, status: int, kind: str
) -> None:
    openai = {"error": {"message": "x", "type": "Bad Request", "param": "body.a", "code": status}}
    own = {"type": "error", "error": {"type": "BadRequestError", "message": "x"}}
    for body in (openai, own):
        code, got = await told(json.dumps(body).encode(), status=status, path=path)
        assert (code, message_error(got)) == (status, (kind, "x"))


async def test_a_good_stream_of_messages_passes_with_its_beginning() -> None:
    for pieces in ((START, DELTA, b""), (START, b""), (START + DELTA,), (START, START, b"")):
        assert await told(*pieces, headers=STREAM, path="/v1/messages") == (200, b"".join(pieces))


@pytest.mark.parametrize("path", ["/v2/embed", "/v2/rerank"])
async def test_errors_of_coheres_routes_have_their_message_where_its_clients_look(path: str) -> None:
    body = json.dumps({"error": {"message": "x", "type": "Bad Request", "param": "body.a", "code": 400}}).encode()
    code, got = await told(body, status=400, path=path)
    assert (code, json.loads(got)["message"], error(got)["message"]) == (400, "x", "x")
