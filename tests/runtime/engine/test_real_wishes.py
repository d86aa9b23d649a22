"""A real engine with what the resource asks of it beyond the model: a key, a cap of tokens, a chat template."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.models import tiny
from tests.support.real_runtime import NAME, START_SECONDS, RealRuntime

pytestmark = pytest.mark.full

CAP = 5
TEMPLATE = "{% for message in messages %}<{{ message.role }}> {{ message.content }} {% endfor %}<answer>"
MESSAGES = [{"role": "user", "content": "hello there"}]


def test_the_key_the_cap_and_the_chat_template_are_in_force(tmp_path: Path) -> None:
    keys, template = tmp_path / "keys", tmp_path / "template.jinja"
    keys.write_text("secret-one\n")
    template.write_text(TEMPLATE)
    own = (f"--api-key-file={keys}", f"--max-tokens={CAP}")
    runtime = RealRuntime(tmp_path, tiny(), own=own, engine=(f"--chat-template={template}",))
    try:
        runtime.until_ready(START_SECONDS)
        with httpx.Client(base_url=runtime.url, timeout=120, headers={"authorization": "Bearer secret-one"}) as client:
            _needs_the_key(runtime, client)
            _caps(client)
            _lays_out_chats_by(client)
            keys.write_text("secret-two\n")
            assert client.get("/v1/models").status_code == 401
        assert "secret-" not in runtime.text()
        runtime.stop()
        assert runtime.ended(60) == 0
    finally:
        runtime.clean()


def _needs_the_key(runtime: RealRuntime, client: httpx.Client) -> None:
    body = {"model": NAME, "prompt": "Once", "max_tokens": 1}
    for headers in ({}, {"authorization": "Bearer secret-two"}):
        assert httpx.post(f"{runtime.url}/v1/completions", json=body, headers=headers).status_code == 401
    assert client.post("/v1/completions", json=body).status_code == 200
    assert httpx.get(f"{runtime.url}/health").status_code == 200


def _caps(client: httpx.Client) -> None:
    """Also a request that names no length, or a greater one; a smaller one counts."""
    asked: list[dict[str, Any]] = [{}, {"max_tokens": 100}, {"max_tokens": 2}]
    for more, expected in zip(asked, (CAP, CAP, 2), strict=True):
        for path, content in (
            ("/v1/completions", {"prompt": "Once"}),
            ("/v1/chat/completions", {"messages": MESSAGES}),
        ):
            answer = client.post(path, json={"model": NAME, "ignore_eos": True, **content, **more})
            assert answer.status_code == 200, answer.text
            found = answer.json()
            assert (found["usage"]["completion_tokens"], found["choices"][0]["finish_reason"]) == (expected, "length")


def _lays_out_chats_by(client: httpx.Client) -> None:
    tokens = client.post("/tokenize", json={"model": NAME, "messages": MESSAGES}).json()["tokens"]
    text = client.post("/detokenize", json={"model": NAME, "tokens": tokens}).json()["prompt"]
    assert "<user> hello there <answer>" in text
