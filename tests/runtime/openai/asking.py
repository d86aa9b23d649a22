"""Questions for a live server, and their answers."""

import json
from typing import Any

import httpx

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"
SAID = [{"role": "user", "content": "Say something about Paris."}]


def chat(client: httpx.Client, **more: Any) -> httpx.Response:
    """A short answer."""
    return client.post(CHAT, json={"model": "one", "messages": SAID, "max_tokens": 5, **more})


def complete(client: httpx.Client, **more: Any) -> httpx.Response:
    """A short continuation."""
    return client.post(COMPLETIONS, json={"model": "one", "prompt": "Once upon", "max_tokens": 5, **more})


def error_of(response: httpx.Response, status: int = 400) -> dict[str, Any]:
    """The error of a response with this status, in the OpenAI form."""
    assert response.status_code == status, response.text[:500]
    body = response.json()
    assert set(body) == {"error"}
    error: dict[str, Any] = body["error"]
    assert {"message", "type", "param", "code"} <= set(error)
    assert error["message"]
    assert error["code"] == status
    return error


def events(client: httpx.Client, path: str, **request: Any) -> list[dict[str, Any]]:
    """The events of a stream that ends as it should; each one's bytes are whole UTF-8."""
    with client.stream("POST", path, json={"model": "one", "stream": True, **request}) as response:
        raw = b"".join(response.iter_bytes())
    assert response.status_code == 200, raw
    parts = raw.decode("utf-8").split("\n\n")
    assert parts[-2:] == ["data: [DONE]", ""]
    return [json.loads(part.removeprefix("data: ")) for part in parts[:-2]]


def texts(found: list[dict[str, Any]], index: int = 0) -> str:
    """What the deltas of one choice say, joined."""
    choices = [choice for event in found for choice in event["choices"] if choice["index"] == index]
    return "".join(choice.get("text") or choice.get("delta", {}).get("content") or "" for choice in choices)
