"""Requests made from the server's own OpenAPI document: none is answered with a fault of the server, or not at all."""

import subprocess
from pathlib import Path

import pytest

from tests.cluster.images import environment
from tests.support.live import Live

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

EXAMPLES = 25
"""For each route. More find no more: the bodies' forms are many, what is behind them is one engine."""


def test_no_request_that_the_document_allows_fails_in_the_server(server: Live, tmp_path: Path) -> None:
    processes = server.engine_processes()
    done = subprocess.run(
        [
            *(str(environment.PYTHON), "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"),
            *("--checks", "not_a_server_error", "--phases", "fuzzing", "--mode", "all"),
            *(
                "--max-examples",
                str(EXAMPLES),
                "--request-timeout",
                "60",
                "--seed",
                "1",
                "--generation-database",
                "none",
            ),
            *("--suppress-health-check", "all", "--no-color", "--workers", "2"),
        ],
        env=environment.python_with(environment.clients("schemathesis.txt")),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=700,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "not_a_server_error" in done.stdout or "generated" in done.stdout, done.stdout
    assert server.engine_processes() == processes
    with server.client() as client:
        answer = client.post("/v1/completions", json={"model": "one", "prompt": "x", "max_tokens": 1})
        assert answer.status_code == 200
