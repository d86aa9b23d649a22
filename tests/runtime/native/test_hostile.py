"""Whatever a client sends, the answer is an answer or an error that is the client's."""

import asyncio
import datetime
import json
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from arriero_api.contract import Phase, RuntimeStatus
from arriero_runtime.engine.protocol import Message
from arriero_runtime.lifecycle import LifeCycle
from arriero_runtime.native import wire
from arriero_runtime.native.formats.llama import LlamaChat
from arriero_runtime.server.dispatch import Dispatcher
from tests.runtime.native.formats.spelled import Letters
from tests.runtime.native.played import Answer, PlayedEngine, chat, completion

scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8))
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def mostly(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A good value in seven of eight cases, else any."""
    return st.integers(0, 7).flatmap(lambda number: anything if number == 7 else good)


text_item = st.fixed_dictionaries({"type": st.just("text"), "text": st.text(max_size=5)})
image = st.fixed_dictionaries({"type": st.just("image"), "image": anything})
content = mostly(st.one_of(st.text(max_size=5), text_item, st.lists(text_item | image, max_size=3)))
call = st.fixed_dictionaries({"call_id": st.text(), "tool_name": st.sampled_from(["f", "g"]), "arguments": anything})
user = st.fixed_dictionaries({"role": st.just("user"), "content": content}, optional={"context": content})
other = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "assistant", "tool"]), "content": content},
    optional={"call_id": mostly(st.text()), "tool_calls": mostly(st.lists(call, max_size=2)), "other": anything},
)
messages = st.lists(mostly(user | other), min_size=1, max_size=3)
kinds = st.sampled_from(["str", "list[int]", "dict[str, int]", "[", "list[[]"])
inner = st.recursive(
    mostly(
        st.fixed_dictionaries({"type": st.sampled_from(["string", "array", "object"])}, optional={"enum": anything})
    ),
    lambda below: st.fixed_dictionaries({"type": st.just("array"), "items": below}),
    max_leaves=3,
)
plain = st.fixed_dictionaries({"param_type": kinds}, optional={"enum": mostly(st.lists(anything, max_size=2))})
listed = st.fixed_dictionaries({"param_type": st.just("list"), "items": inner})
objects = st.fixed_dictionaries(
    {"param_type": st.just("object"), "properties": st.dictionaries(st.text(max_size=3), inner, max_size=2)}
)
parameters = st.dictionaries(st.text(max_size=3), mostly(plain | listed | objects), max_size=2)
tool = st.fixed_dictionaries(
    {"tool_name": st.sampled_from(["f", "g", "brave_search"])}, optional={"parameters": mostly(parameters)}
)
strategy = st.sampled_from(
    [{"type": "greedy"}, {"type": "top_p", "temperature": 0.5}, {"type": "top_k", "top_k": 3}, {"type": "top_k"}]
)
params = st.fixed_dictionaries(
    {"strategy": strategy}, optional={"max_tokens": st.integers(-1, 2**40), "stop": st.lists(st.text(), max_size=5)}
)
form = st.sampled_from([{"type": "json_schema", "json_schema": {}}, {"type": "grammar", "bnf": "root ::= x"}])
request = st.fixed_dictionaries(
    {
        "model_id": mostly(st.just("one")),
        "content": content,
        "messages": messages,
        "content_batch": st.lists(content, min_size=1, max_size=3),
        "messages_batch": st.lists(messages, min_size=1, max_size=2),
        "contents": st.lists(st.text(max_size=5) | text_item, min_size=1, max_size=2),
    },
    optional={
        "sampling_params": mostly(params),
        "response_format": mostly(form),
        "logprobs": mostly(st.fixed_dictionaries({"top_k": st.integers(0, 20)})),
        "stream": st.booleans(),
        "tools": mostly(st.lists(tool, max_size=2)),
        "tool_choice": st.sampled_from(["auto", "auto", "none", "required", "f"]),
    },
)
KNOWN: dict[str, type[BaseModel]] = {
    "completion": wire.Completion,
    "chat-completion": wire.ChatCompletion,
    "batch-completion": wire.BatchCompletion,
    "batch-chat-completion": wire.BatchChatCompletion,
    "embeddings": wire.Embeddings,
}


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, Any]:
    """A route, and a body that has members of its requests only, or any body."""
    route = draw(st.sampled_from(sorted(KNOWN)))
    body: Any = draw(request | anything)
    if isinstance(body, dict) and "model_id" in body:
        body = {name: value for name, value in body.items() if name in KNOWN[route].model_fields}
    return route, body


def serving(prompts: bool) -> Dispatcher:
    """`prompts`: chats are asked by Llama Stack's prompts."""
    published: list[RuntimeStatus] = []
    life = LifeCycle(published.append)
    for phase in (Phase.RESOLVING, Phase.LOADING, Phase.WARMING, Phase.READY):
        life.enter(phase)
    life.names(("one",), "hash")
    engine = PlayedEngine()
    engine.rename(["one"])
    engine.script.play = lambda body: Answer(chat() if "messages" in body else completion())
    dispatcher = Dispatcher(life, 60.0)
    dispatcher.attach(engine)
    if prompts:
        dispatcher.facts.llama = LlamaChat(Letters(), "", lambda: datetime.date(2026, 11, 30))
    return dispatcher


async def status_of(path: str, body: bytes, prompts: bool) -> tuple[int, Any]:
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[Message] = []

    async def receive() -> Message:
        if not waiting:
            await asyncio.Event().wait()
        return waiting.pop()

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "headers": []}
    await serving(prompts)(scope, receive, send)
    return sent[0]["status"], b"".join(message["body"] for message in sent[1:])


@settings(max_examples=300)
@given(requests(), st.booleans())
async def test_no_body_is_a_fault_of_the_server(asked: tuple[str, Any], prompts: bool) -> None:
    route, body = asked
    status, answer = await status_of(f"/v1/inference/{route}", json.dumps(body).encode(), prompts)
    event(f"{route}: {status}")
    assert status in (200, 400), answer
    if status == 400:
        found = json.loads(answer)
        assert found.get("detail") or found["error"]["detail"]["errors"]
