"""FAKE, for tests only: an engine's OpenAI application that plays back what a test has written down."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arriero_runtime.engine.protocol import Receive, Scope, Send, Tokens
from arriero_runtime.native.operations import operations
from tests.runtime.server.harness import Running, options_for, running, write_names
from tests.runtime.server.scripted import ScriptedEngine, body_of

USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
METRICS = [{"metric": name, "value": value, "unit": None} for name, value in USAGE.items()]
LLM = frozenset({"/v1/models", "/v1/chat/completions", "/v1/completions"})
EMBEDDER = frozenset({"/v1/models", "/v1/embeddings"})


@dataclass
class Answer:
    """`body` as JSON, or the events of a stream (objects, or text as it stands); `wait` holds it until the release."""

    body: Any = None
    status: int = 200
    events: Sequence[dict[str, Any] | str] | None = None
    done: bool = True
    wait: bool = False


def chat(content: str | None = "Paris", finish: str = "stop", **more: Any) -> dict[str, Any]:
    """A whole chat completion; `more` goes into the message, but for logprobs and stop_reason."""
    choice = {"index": 0, "finish_reason": finish, "logprobs": more.pop("logprobs", None)}
    choice["stop_reason"] = more.pop("stop_reason", None)
    return {"choices": [{**choice, "message": {"role": "assistant", "content": content, **more}}], "usage": USAGE}


def completion(text: str = "Paris", finish: str = "stop", **more: Any) -> dict[str, Any]:
    """A whole completion; `more` goes into the choice."""
    return {"choices": [{"index": 0, "text": text, "finish_reason": finish, **more}], "usage": USAGE}


def piece(finish: str | None = None, logprobs: Any = None, stop_reason: Any = None, **delta: Any) -> dict[str, Any]:
    """A chunk of a streamed chat."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": logprobs, "stop_reason": stop_reason}
    return {"choices": [choice]}


def text_piece(text: str, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """A chunk of a streamed completion."""
    return {"choices": [{"index": 0, "text": text, "finish_reason": finish, **more}]}


COUNT: dict[str, Any] = {"choices": [], "usage": USAGE}


@dataclass
class Asked:
    path: str
    body: dict[str, Any]
    headers: dict[str, str]


@dataclass
class Script:
    """What the engine answers, and what it was asked."""

    play: Callable[[dict[str, Any]], Answer] = lambda body: Answer(chat())
    asked: list[Asked] = field(default_factory=list)

    def always(self, answer: Answer) -> None:
        self.play = lambda body: answer

    @property
    def last(self) -> dict[str, Any]:
        return self.asked[-1].body


def _streamed(answer: Answer) -> Answer:
    """A whole answer as a stream."""
    choice = answer.body["choices"][0]
    if "text" in choice:
        return Answer(events=[{"choices": [choice]}, COUNT])
    message = choice["message"]
    calls = [{**call, "index": number} for number, call in enumerate(message.get("tool_calls") or [])]
    first = piece(content=message["content"], logprobs=choice["logprobs"])
    last = piece(choice["finish_reason"], stop_reason=choice["stop_reason"], tool_calls=calls)
    return Answer(events=[first, last, COUNT])


class PlayedEngine(ScriptedEngine):
    """Answers by its script; refuses names that it does not serve."""

    def __init__(self, paths: frozenset[str] = LLM) -> None:
        super().__init__()
        self.script = Script()
        self._paths = paths

    @property
    def paths(self) -> frozenset[str]:
        return self._paths

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/v1/models":
            await super()._serve(scope, receive, send)
            return
        body = json.loads(await body_of(receive))
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.script.asked.append(Asked(scope["path"], body, headers))
        self.started.set()
        if body["model"] not in self.names:
            answer = Answer({"error": {"message": f"The model `{body['model']}` does not exist."}}, 404)
        else:
            answer = self.script.play(body)
        if answer.wait and not await self._released(receive):
            return
        if body.get("stream") and answer.status == 200 and answer.events is None:
            answer = _streamed(answer)
        if answer.events is None:
            await self._json(send, answer.status, answer.body)
        else:
            await self._play(answer, send)

    @staticmethod
    async def _play(answer: Answer, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-request-id", b"seen")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for event in [*(answer.events or ()), *(["data: [DONE]\n\n"] if answer.done else [])]:
            data = event if isinstance(event, str) else f"data: {json.dumps(event)}\n\n"
            await send({"type": "http.response.body", "body": data.encode(), "more_body": True})
        await send({"type": "http.response.body", "body": b""})


class Native:
    """A server with a played engine, and the calls of Llama Stack's inference API. Each good answer is checked to have
    the form that the document of port 8080 tells."""

    def __init__(self, server: Running, engine: PlayedEngine) -> None:
        self.server = server
        self.engine = engine
        self.script = engine.script

    async def post(self, route: str, body: dict[str, Any], headers: dict[str, str] | None = None) -> tuple[int, Any]:
        """Status and JSON. The model's name is filled in."""
        answer = await self.server.client.post(
            f"/v1/inference/{route}", json={"model_id": "one", **body}, headers=headers
        )
        told = operations(registers=False)[f"/v1/inference/{route}", "post"].answer
        if answer.status_code == 200 and told is not None:
            told.model_validate_json(answer.text, strict=True)
        return answer.status_code, answer.json()

    async def stream(self, route: str, body: dict[str, Any]) -> list[dict[str, Any]]:
        """The objects of all events of a streamed answer."""
        request = {"model_id": "one", "stream": True, **body}
        async with self.server.client.stream("POST", f"/v1/inference/{route}", json=request) as response:
            assert response.status_code == 200
            assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
            lines = [line async for line in response.aiter_lines() if line]
        events = [json.loads(line.removeprefix("data: ")) for line in lines if not line.startswith(":")]
        told = operations(registers=False)[f"/v1/inference/{route}", "post"].chunk
        for event in events:
            if told is not None and "error" not in event:
                told.model_validate(event, strict=True)
        return events


@asynccontextmanager
async def native(
    tmp_path: Path, *, paths: frozenset[str] = LLM, extra: Sequence[str] = (), vocabulary: Tokens | None = None
) -> AsyncIterator[Native]:
    """A server that is ready."""
    engine = PlayedEngine(paths)
    engine.vocabulary = vocabulary
    options = options_for(tmp_path, extra)
    write_names(options.registrations, "one", "two")
    async with running(options, engine=engine) as server:
        yield Native(server, engine)
