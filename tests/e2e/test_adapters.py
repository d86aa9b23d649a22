"""LoRA adapters of a model that serves: they come, fail and go by a patch, and its pod stays as it is."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.e2e.conftest import Start, example
from tests.hub import RemoteHub
from tests.models import smollm2 as smollm2_folder
from tests.models.lora import adapter
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object, condition

pytestmark = [pytest.mark.node, pytest.mark.engine]

NAME = "adapted"
MAX_RANK = 8
SECONDS_TO_ANSWER = 10.0
QUESTION = "The capital of France is"


def _entry(name: str) -> Object:
    return {"name": name, "uri": f"hf://adapters/{name}"}


def _answer(address: str, model: str) -> tuple[int, str]:
    """The HTTP code that the pod answers with, and the greedy answer's text."""
    body = {"model": model, "prompt": QUESTION, "max_tokens": 8, "temperature": 0}
    request = Request(
        f"http://{address}:8080/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urlopen(request, timeout=60) as response:
            found = json.load(response)
            assert found["model"] == model
            return int(response.status), str(found["choices"][0]["text"])
    except HTTPError as error:
        with error:
            return error.code, ""


@pytest.fixture
def adapted(kubectl: Kubectl, hub: RemoteHub, tmp_path: Path) -> Iterator[Start]:
    """A serving model with room for adapters and one of them; the hub has another one, and one of too high a rank."""
    base = smollm2_folder()
    for number, (name, rank) in enumerate((("french", MAX_RANK), ("german", MAX_RANK), ("wide", 2 * MAX_RANK))):
        hub.add_repo(f"adapters/{name}", adapter(base, tmp_path / name, rank=rank, seed=number))
    model = example(NAME)
    model["spec"]["lora"] = {"maxRank": MAX_RANK, "maxActive": 2, "maxLoaded": 4, "adapters": [_entry("french")]}
    kubectl.apply(model)
    start = Start(kubectl, NAME)
    start.wait_ready()
    yield start
    kubectl.run("delete", "im", NAME)


def _list(start: Start, *names: str) -> None:
    start.kubectl.patch("im", NAME, {"spec": {"lora": {"adapters": [_entry(name) for name in names]}}})


def _told(start: Start, name: str) -> Object:
    """What the status says of the name; empty while it says nothing."""
    names = start.kubectl.json("get", "im", NAME)["status"]["names"]
    return next((found for found in names if found["name"] == name), {})


def test_adapters_come_fail_and_go_while_the_same_pod_serves(adapted: Start) -> None:
    before = adapted.pods()
    (pod,) = adapted.kubectl.items("pods", f"arriero.dev/model={NAME}")
    address = pod["status"]["podIP"]
    codes, answers = zip(*(_answer(address, name) for name in (NAME, "french")), strict=True)
    assert codes == (200, 200)
    assert answers[0] != answers[1]
    assert _answer(address, "german")[0] == 404

    _list(adapted, "french", "german")
    begin = time.monotonic()
    eventually(lambda: _answer(address, "german")[0] == 200, 60)
    assert time.monotonic() - begin <= SECONDS_TO_ANSWER
    assert _answer(address, "german")[1] not in answers
    eventually(lambda: _told(adapted, "german").get("state") == "Registered", 30)
    adapted.wait_ready()

    _list(adapted, "french", "wide")
    eventually(lambda: _told(adapted, "wide").get("state") == "Failed", 30)
    assert "its rank is 16" in _told(adapted, "wide")["message"]
    assert "Raise spec.lora.maxRank" in _told(adapted, "wide")["message"]
    model = adapted.kubectl.json("get", "im", NAME)
    ready = condition(model, "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "AdapterRankTooHigh")
    assert [condition(model, kind)["status"] for kind in ("Available", "EngineReady")] == ["True", "True"]
    assert _answer(address, "wide")[0] == 404
    assert [_answer(address, name) for name in (NAME, "french")] == list(zip(codes, answers, strict=True))

    _list(adapted)
    eventually(lambda: [_answer(address, name)[0] for name in ("french", "german")] == [404, 404], 60)
    eventually(lambda: not _told(adapted, "french"), 30)
    adapted.wait_ready()
    assert _answer(address, NAME) == (200, answers[0])
    assert adapted.pods() == before
