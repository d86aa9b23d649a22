"""Requests made from the server's own OpenAPI document: none is answered with a fault of the server, or not at all."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import models
from tests.cluster.images import environment
from tests.runtime.openai.asking import complete
from tests.support.live import Live, live

pytestmark = [pytest.mark.full, pytest.mark.timeout(1500)]

EXAMPLES = 25
"""For each operation. More find no more: the bodies' forms are many, what is behind them is one engine."""
SECONDS = 1200
"""For all of them together, on a busy machine; a third of it on one that is not."""
HOOKS = Path(__file__).with_name("inside_schemathesis.py")
OURS = "^/v1/(inference/|health|version|providers|inspect|models|openai/v1/models)"
"""Routes whose answers are put together here: they also have the form that the document tells."""


def generated(server: Live, folder: Path, checks: str, *more: str) -> tuple[int, str]:
    """How many operations were tested, and all that was said. Fails where a request has failed a check."""
    done = subprocess.run(
        [
            *(str(environment.PYTHON), "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"),
            *("--checks", checks, "--phases", "fuzzing", "--mode", "all", "--request-timeout", "60"),
            *("--max-examples", str(EXAMPLES), "--seed", "1", "--generation-database", "none"),
            *("--suppress-health-check", "all", "--no-color", *more),
        ],
        env=environment.python_with(environment.clients("schemathesis.txt"), HOOKS.parent)
        | {"SCHEMATHESIS_HOOKS": HOOKS.stem},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    found = re.search(r"Tested: (\d+)", done.stdout)
    assert found is not None, done.stdout
    return int(found[1]), done.stdout


def operations(server: Live, pattern: str = "") -> list[str]:
    """Those of the document; of paths that `pattern` matches."""
    with server.client() as client:
        paths = client.get("/openapi.json").json()["paths"]
    return [f"{method} {path}" for path, about in paths.items() for method in about if re.search(pattern, path)]


@pytest.mark.parametrize(
    ("more", "least"), [((), 30), (("--runner", "pooling", "--convert", "embed"), 20)], ids=["text", "embeddings"]
)
def test_no_request_that_the_document_allows_fails_in_the_server(folder: Path, more: Sequence[str], least: int) -> None:
    # Short answers: what is looked for happens before them.
    with live(models.tiny(), folder, ("--max-model-len", "256", *more), ("--max-tokens", "8")) as server:
        processes = server.engine_processes()
        tested, said = generated(server, folder, "not_a_server_error")
        assert tested == len(operations(server)) >= least, said
        ours = ("response_schema_conformance,content_type_conformance", "--include-path-regex", OURS)
        tested, said = generated(server, folder, *ours)
        assert tested == len(operations(server, OURS)) >= 14, said
        assert server.engine_processes() == processes
        with server.client() as client:
            if not more:
                assert complete(client, max_tokens=1).status_code == 200
            assert client.get("/health").status_code == 200
