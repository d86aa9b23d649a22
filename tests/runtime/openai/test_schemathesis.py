"""Requests made from the server's own OpenAPI document: none is answered with a fault of the server, or not at all."""

import subprocess
from pathlib import Path

import pytest

from tests import models
from tests.cluster.images import environment
from tests.runtime.openai.asking import complete
from tests.support.live import live

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

EXAMPLES = 25
"""For each route. More find no more: the bodies' forms are many, what is behind them is one engine."""


SECONDS = 300
"""For all of them together."""


def test_no_request_that_the_document_allows_fails_in_the_server(folder: Path) -> None:
    # Short answers: what is looked for happens before them.
    with live(models.tiny(), folder, ("--max-model-len", "256"), ("--max-tokens", "8")) as server:
        processes = server.engine_processes()
        done = subprocess.run(
            [
                *(str(environment.PYTHON), "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"),
                *("--checks", "not_a_server_error", "--phases", "fuzzing", "--mode", "all"),
                *("--max-examples", str(EXAMPLES), "--max-time", str(SECONDS), "--request-timeout", "60"),
                *("--seed", "1", "--generation-database", "none", "--suppress-health-check", "all", "--no-color"),
            ],
            env=environment.python_with(environment.clients("schemathesis.txt")),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=2 * SECONDS,
        )
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        assert "generated" in done.stdout, done.stdout
        assert server.engine_processes() == processes
        with server.client() as client:
            assert complete(client, max_tokens=1).status_code == 200
