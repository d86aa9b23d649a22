"""What runs in the client pod, against a small server on loopback that plays the model's edge."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from tests.support.threaded import http_server

PROGRAM = Path(__file__).with_name("inside.py")
ANSWER = {"model": "m", "choices": [{"message": {"content": "Paris."}}]}
CHUNKS = (
    {"choices": [{"delta": {"role": "assistant", "content": ""}}]},
    {"choices": [{"delta": {"content": "Once"}}]},
    {"choices": [{"delta": {"content": " upon"}, "finish_reason": "length"}]},
    {"choices": [], "usage": {"completion_tokens": 2}},
)


@contextmanager
def _model(refusals: int = 0, ended: bool = True) -> Iterator[str]:
    """A fake of the model's HTTP edge: refuses the first requests with 404, then answers; a stream may lack its end."""
    left = [refusals]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            refused = left[0] > 0
            left[0] -= refused
            answer = _stream(ended) if body.get("stream") else json.dumps(ANSWER).encode()
            self.send_response(404 if refused else 200)
            self.end_headers()
            self.wfile.write(b"{}" if refused else answer)

        def log_message(self, *_: Any) -> None:
            return

    with http_server(Handler) as port:
        yield f"http://127.0.0.1:{port}/v1/chat/completions"


def _stream(ended: bool) -> bytes:
    lines = [json.dumps(chunk) for chunk in CHUNKS] + (["[DONE]"] if ended else [])
    return "".join(f"data: {line}\n\n" for line in lines).encode()


def _call(*arguments: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-", *arguments], input=PROGRAM.read_text(), capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_it_asks_and_prints_the_answer() -> None:
    with _model() as url:
        assert _call("ask", url, "m", "Where?") == [{"answer": "Paris.", "model": "m"}]


def test_it_says_that_it_is_refused_before_it_is_served() -> None:
    with _model(refusals=3) as url:
        refused, served = _call("until-served", url, "alias", "10")
    assert refused == {"trying": "alias"}
    assert served["served"] == "alias"


def test_it_streams_pieces_and_tells_how_the_stream_ended() -> None:
    with _model() as url:
        *pieces, end = _call("stream", url, "m", "Tell me.", "2")
    assert [piece["text"] for piece in pieces] == ["Once", " upon"]
    assert end == {"finish": "length", "tokens": 2, "done": True}


def test_a_stream_without_its_last_line_does_not_count_as_ended() -> None:
    with _model(ended=False) as url:
        assert _call("stream", url, "m", "Tell me.", "2")[-1]["done"] is False
