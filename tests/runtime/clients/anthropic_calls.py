"""Calls of Anthropic's own client, told as one line of JSON. Run as: python anthropic_calls.py URL."""

import json
import sys
from collections.abc import Callable
from typing import Any

import anthropic

SAID: list[Any] = [{"role": "user", "content": "What is the capital of France?"}]


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


if __name__ == "__main__":
    print(json.dumps(refusals(sys.argv[1])))
