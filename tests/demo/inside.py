"""Runs inside a pod of the cluster, on the standard library alone: calls a model as any program there would.

    python3 - ask URL MODEL QUESTION             one answer
    python3 - until-served URL MODEL SECONDS     tries until MODEL is known; says "trying" once it has been refused
    python3 - stream URL MODEL QUESTION TOKENS   a streamed answer of exactly so many tokens
    python3 - status URL                         the runtime's own report

Each line on standard output is a JSON object.
"""

import json
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPResponse
from typing import Any


def ask(url: str, model: str, question: str) -> None:
    """Print {"answer", "model"}."""
    with _post(url, _chat(model, question, max_tokens=64)) as response:
        body = json.load(response)
    _print(answer=body["choices"][0]["message"]["content"], model=body["model"])


def until_served(url: str, model: str, seconds: str) -> None:
    """Print {"trying"} at the first refusal and {"served"} with the time of the first answer."""
    deadline = time.monotonic() + float(seconds)
    refused = False
    while time.monotonic() < deadline:
        try:
            with _post(url, _chat(model, "Hello", max_tokens=1)) as response:
                response.read()
        except urllib.error.HTTPError as error:
            with error:
                error.read()
            if error.code != 404:
                raise
            if not refused:
                refused = True
                _print(trying=model)
            time.sleep(0.05)
        else:
            _print(served=model, at=time.time())
            return
    raise SystemExit(f"{model} is not served after {seconds} seconds")


def stream(url: str, model: str, question: str, tokens: str) -> None:
    """Print {"text"} for each piece, at last {"finish", "tokens", "done"}."""
    wanted = {
        "max_tokens": int(tokens),
        "ignore_eos": True,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    finish, count, done = "", 0, False
    with _post(url, _chat(model, question, **wanted)) as response:
        for raw in response:
            line = raw.decode().strip().removeprefix("data: ")
            if not line:
                continue
            if line == "[DONE]":
                done = True
                continue
            body = json.loads(line)
            count = (body.get("usage") or {}).get("completion_tokens", count)
            for choice in body.get("choices", ()):
                finish = choice.get("finish_reason") or finish
                if text := choice["delta"].get("content"):
                    _print(text=text)
    _print(finish=finish, tokens=count, done=done)


def status(url: str) -> None:
    """Print the body of GET /status."""
    with urllib.request.urlopen(url, timeout=5) as response:
        _print(**json.load(response))


def _chat(model: str, question: str, **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": question}], "temperature": 0, **more}


def _post(url: str, body: dict[str, Any]) -> HTTPResponse:
    headers = {"Content-Type": "application/json"}
    response: HTTPResponse = urllib.request.urlopen(
        urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=300
    )
    return response


def _print(**line: Any) -> None:
    print(json.dumps(line), flush=True)


CALLS: dict[str, Callable[..., None]] = {
    "ask": ask,
    "until-served": until_served,
    "stream": stream,
    "status": status,
}

if __name__ == "__main__":
    CALLS[sys.argv[1]](*sys.argv[2:])
