"""Calls of Anthropic's own client, told as one line of JSON. Run as: python anthropic_calls.py URL KIND."""

import json
import sys
from collections.abc import Callable
from typing import Any

import anthropic

SAID: list[Any] = [{"role": "user", "content": "What is the capital of France?"}]
GREEDY = {"temperature": 0}
"""Which the API still has, and newer versions of the client have not."""
TOOL: dict[str, Any] = {
    "name": "weather",
    "description": "The weather in a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def raised(call: Callable[[], Any]) -> dict[str, Any]:
    """Class, status and type of what a call raises."""
    try:
        call()
    except anthropic.APIStatusError as error:
        body: Any = error.body
        found = body["error"]
        return {
            "raised": type(error).__name__,
            "status": error.status_code,
            "type": found["type"],
            "message": found["message"],
        }
    return {}


def client(url: str, key: str = "none") -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=url, api_key=key, max_retries=0, timeout=120)


def refusals(url: str) -> dict[str, Any]:
    """Of a server that needs the key "right", and has a model "one"."""
    with client(url, "wrong") as one:
        unknown_key = raised(lambda: one.messages.create(model="one", messages=SAID, max_tokens=5))
    with client(url, "right") as one:

        def create(**more: Any) -> dict[str, Any]:
            return raised(lambda: one.messages.create(**{"model": "one", "messages": SAID, "max_tokens": 5, **more}))

        return {
            "key": unknown_key,
            "field": create(extra_body={"temprature": 1}),
            "tool": create(tools=[{"type": "web_search_20250305", "name": "web_search"}]),
            "container": create(container="c1"),
            "count": raised(lambda: one.messages.count_tokens(model="one", messages=SAID, extra_body={"n": 2})),
            "batches": raised(lambda: one.messages.batches.list()),
            "engine": create(),
        }


def streamed(one: anthropic.Anthropic, **more: Any) -> dict[str, Any]:
    with one.messages.stream(**{"model": "one", "messages": SAID, "max_tokens": 20, **more}) as stream:
        text = "".join(stream.text_stream)
        whole = stream.get_final_message()
    return {"text": text, "reason": whole.stop_reason, "tokens": whole.usage.output_tokens}


def answers(url: str) -> dict[str, Any]:
    """Of a real model."""
    common: dict[str, Any] = {"model": "one", "messages": SAID, "max_tokens": 20, "extra_body": GREEDY}
    with client(url) as one:
        whole = one.messages.create(
            **common, metadata={"user_id": "u1"}, service_tier="standard_only", stop_sequences=["\n\n"]
        )
        called = one.messages.create(
            model="one",
            messages=[{"role": "user", "content": "What is the weather in Paris?"}],
            max_tokens=200,
            extra_body=GREEDY,
            tools=[TOOL],
            tool_choice={"type": "tool", "name": "weather"},
        )
        beta = one.beta.messages.create(**common, betas=["interleaved-thinking-2025-05-14"])
        return {
            "text": whole.content[0].text,
            "reason": whole.stop_reason,
            "input": whole.usage.input_tokens,
            "count": one.messages.count_tokens(model="one", messages=SAID).input_tokens,
            "stream": streamed(one, extra_body=GREEDY),
            "beta": beta.content[0].text,
            "call": [block.input for block in called.content if block.type == "tool_use"],
            "called": called.stop_reason,
            "model": raised(lambda: one.messages.create(**{**common, "model": "other"})),
            "long": raised(lambda: one.messages.create(**{**common, "max_tokens": 100_000})),
            "constraint": raised(
                lambda: one.messages.create(
                    **common,
                    output_config={
                        "format": {"type": "json_schema", "schema": {"type": "string", "pattern": "(?<=a)b"}}
                    },
                )
            ),
            "role": raised(lambda: one.messages.create(**{**common, "messages": [{"role": "x", "content": "a"}]})),
        }


if __name__ == "__main__":
    calls = {"refusals": refusals, "answers": answers}
    print(json.dumps(calls[sys.argv[2]](sys.argv[1])))
