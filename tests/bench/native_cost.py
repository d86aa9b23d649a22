"""What the Llama Stack routes themselves cost for one streamed chat: `python -m tests.bench.native_cost`.

The engine's application is a FAKE that plays vLLM's events back and waits for its client twice, as vLLM does. It is
asked through the routes and without them by turns, in one process and its CPU time, so that only the routes differ.
"""

import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from arriero_runtime.engine.protocol import AsgiApp, Message, Receive, Scope, Send
from arriero_runtime.lifecycle import LifeCycle
from arriero_runtime.native.facts import Facts
from arriero_runtime.native.inference import Inference
from arriero_runtime.server.routes import CHAT, COMPLETIONS

TOKENS: Final = (1, 48, 192)
_TIMES: Final = 20
"""One after the other before the other side has its turn."""
_TURNS: Final = 60
_HEAD: Final = '{"id":"chatcmpl-a572e1fe5511a1c7","object":"chat.completion.chunk","created":1796033151,"model":"m"'
_TEXT: Final = '"logprobs":null,"finish_reason":null,"token_ids":null}]}'
_BODY: Final = {
    "model_id": "m",
    "messages": [{"role": "user", "content": "Tell me about llamas."}],
    "sampling_params": {"max_tokens": 48},
    "stream": True,
}


def _event(rest: str) -> bytes:
    return f"data: {_HEAD},{rest}\n\n".encode()


def _events(tokens: int) -> list[bytes]:
    """As they leave vLLM; the first of its own says nothing and comes with the next."""
    role = _event('"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null}]}')
    text = [_event(f'"choices":[{{"index":0,"delta":{{"content":" word{i}"}},{_TEXT}') for i in range(tokens)]
    last = _event('"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop","stop_reason":null}]}')
    usage = _event('"choices":[],"usage":{"prompt_tokens":37,"total_tokens":85,"completion_tokens":48}}')
    return [role + text[0], *text[1:], last, usage, b"data: [DONE]\n\n"]


def _playing(events: Sequence[bytes]) -> AsgiApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        for _ in range(2):
            listening = asyncio.ensure_future(receive())
            await asyncio.sleep(0)
            listening.cancel()
        head = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        for event in events:
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    return app


def _routes() -> Inference:
    life = LifeCycle(lambda status: None)
    paths = frozenset({CHAT, COMPLETIONS})
    life.names(("m",), "")
    return Inference(Facts(life, "", lambda: paths, frozenset))


async def _ask(app: AsgiApp) -> None:
    given = False

    async def receive() -> Message:
        nonlocal given
        if given:
            await asyncio.Event().wait()
        given = True
        return {"type": "http.request", "body": json.dumps(_BODY).encode(), "more_body": False}

    async def send(message: Message) -> None:
        assert message.get("status", 200) == 200, message

    scope = {"type": "http", "method": "POST", "path": "/v1/inference/chat-completion", "headers": [], "state": {}}
    await app(scope, receive, send)


async def microseconds(tokens: int) -> float:
    """What the routes add to one stream of so many tokens: the median of what neighbouring turns differ by."""
    alone = _playing(_events(tokens))
    through = partial(_routes().chat_completion, alone)
    both: Sequence[Callable[..., Awaitable[None]]] = (alone, through)
    over = []
    for turn in range(-3, _TURNS):
        used = []
        for app in both:
            begun = time.process_time()
            for _ in range(_TIMES):
                await _ask(app)
            used.append((time.process_time() - begun) / _TIMES * 1e6)
        if turn >= 0:
            over.append(used[1] - used[0])
    return statistics.median(over)


async def main() -> None:
    """Prints a line for each number of tokens."""
    for tokens in TOKENS:
        print(f"{tokens:4} tokens: {await microseconds(tokens):6.1f} microseconds", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
