"""The engine's routes and parameters are those that were looked at: another version shows what is new."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from arriero_runtime.server import fields
from arriero_runtime.server.routes import ROUTES
from tests.cluster.images import environment

RECORD = Path(__file__).with_name("vllm_lists.json")
"""Made by `inside_lists.py`."""
OWN = frozenset({"/openapi.json"})


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORD.read_text())
    return found


@pytest.mark.full
@pytest.mark.timeout(300)
def test_the_record_is_true_for_the_engine(record: dict[str, Any]) -> None:
    done = subprocess.run(
        [environment.PYTHON, "-W", "ignore", RECORD.with_name("inside_lists.py")],
        env=environment.python_with(environment.runtime()),
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout[done.stdout.index("{\n") :])
    assert found == record


LEFT_OUT = frozenset(
    """/invocations /ping /load /kv_event_sources /scale_elastic_ep /is_scaling_elastic_ep /generative_scoring
    /v1/systemone /v1/chat/completions/batch /v1/chat/completions/render /v1/chat/completions/derender
    /v1/completions/render /v1/completions/derender /v1/messages/render /v1/responses/render
    /v1/responses/{response_id} /v1/responses/{response_id}/cancel /inference/v1/generate
    /inference/v1/abort_requests /v1/audio/transcriptions /v1/audio/translations""".split()  # noqa: SIM905
)
"""Looked at and not served; the reasons stand in `routes.py`. /v1/models is answered by our own handler."""


def test_every_route_of_the_engine_is_served_or_left_out_on_purpose(record: dict[str, Any]) -> None:
    known = set().union(*record["routes"].values())
    assert known - set(ROUTES) == LEFT_OUT | {"/v1/models"}
    # Scores have their routes only for models that are looked at when they are loaded.
    scores = {"/score", "/v1/score", "/rerank", "/v1/rerank", "/v2/rerank"}
    assert set(ROUTES) - known == OWN | scores


def test_every_parameter_of_the_engine_is_taken_or_refused_by_name(record: dict[str, Any]) -> None:
    guided = {"guided_decoding_backend"}
    for path, taken in fields.TAKEN.items():
        if path in record["requests"]:
            names = set(record["requests"][path])
            assert names - taken - set(fields.only(path)) - guided - fields.hints(path) == set(), path
            assert taken - names <= {"user", "request_id", "session_id", "stream_options"}, path
