"""Streams of the real engine that a stop cuts off: no API is told that such an answer is complete."""

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests import models
from tests.runtime.openai.asking import SAID
from tests.support.live import Live, live

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

LONG = 1900
"""Tokens: as many as the model has room for, with random weights hardly ever fewer."""
ASKED: dict[str, dict[str, Any]] = {
    "/v1/responses": {"model": "one", "input": "Count.", "stream": True, "store": False, "max_output_tokens": LONG},
    "/v1/messages": {"model": "one", "messages": SAID, "stream": True, "max_tokens": LONG},
    "/v1/chat/completions": {"model": "one", "messages": SAID, "stream": True, "max_tokens": LONG, "ignore_eos": True},
    "/v1/inference/chat-completion": {"model_id": "one", "messages": SAID, "stream": True},
}


def test_no_stream_that_a_stop_cuts_off_is_told_as_complete(folder: Path) -> None:
    begun = []

    def stream(server: Live, path: str) -> list[str]:
        """All of its events; the server is stopped as soon as all have begun."""
        with server.client() as client, client.stream("POST", path, json=ASKED[path]) as response:
            assert response.status_code == 200, response.read()
            events = response.iter_text()
            found = next(events)
            begun.append(path)
            if len(begun) == len(ASKED):
                server.process.send_signal(signal.SIGTERM)
            return [one for one in (found + "".join(events)).split("\n\n") if one]

    args = ("--max-model-len", "2048", "--generation-config", "vllm")
    with live(models.tiny(), folder, args, ("--drain-seconds", "0")) as server, ThreadPoolExecutor(4) as pool:
        ends = dict(zip(ASKED, pool.map(lambda path: stream(server, path), ASKED), strict=True))
        assert server.process.wait(60) == 0
    for path in ("/v1/responses", "/v1/messages"):
        name, data = ends[path][-1].split("\n")
        assert name == "event: error", ends[path][-3:]
        assert "drainSeconds" in json.loads(data.removeprefix("data: "))["error"]["message"]
        assert not [one for one in ends[path] if "response.completed" in one or "message_stop" in one]
    *_, last, mark = ends["/v1/chat/completions"]
    assert mark == "data: [DONE]"
    assert json.loads(last.removeprefix("data: "))["choices"][0]["finish_reason"] == "abort"
    assert (
        json.loads(ends["/v1/inference/chat-completion"][-1].removeprefix("data: "))["error"]["message"][:4] == "503:"
    )
