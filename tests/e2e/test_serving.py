"""A model that serves: names, scale, rest, repair."""

import json
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, run
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.demo.install import Stage
from tests.e2e.conftest import OPERATOR, READY_SECONDS, Start
from tests.e2e.streaming import streams
from tests.support.audit import AuditLog
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, condition

pytestmark = [pytest.mark.node, pytest.mark.engine]

README = Path(__file__).parents[2] / "README.md"
ALIAS = "chat"
NAME_SECONDS = 15.0
"""Far below the minute in which the kubelet looks at ConfigMaps by itself, and far above the 2 s that a quiet machine
needs: how fast it is, the demo and the benchmark of the operator tell."""
REST_SECONDS = 120.0


def _status_of(address: str, model: str) -> int:
    """The HTTP code that a pod answers a request for `model` with."""
    body = {"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}
    request = Request(
        f"http://{address}:8080/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urlopen(request, timeout=30) as response:
            return int(response.status)
    except HTTPError as error:
        with error:
            return error.code


@pytest.fixture(scope="module")
def two_replicas(smollm2: Start) -> Iterator[list[str]]:
    """The addresses of two ready pods of the model."""
    kubectl = smollm2.kubectl
    kubectl.run("scale", "im/smollm2", "--replicas=2")
    eventually(lambda: len(smollm2.pods()) == 2, 30)
    eventually(lambda: kubectl.json("get", "im", "smollm2")["status"].get("readyReplicas") == 2, READY_SECONDS)
    yield _addresses(smollm2)
    kubectl.run("scale", "im/smollm2", "--replicas=1")


def _addresses(smollm2: Start) -> list[str]:
    return [p["status"]["podIP"] for p in smollm2.kubectl.items("pods", "arriero.dev/model=smollm2")]


def test_an_alias_comes_and_goes_on_every_pod_without_a_restart(smollm2: Start, two_replicas: list[str]) -> None:
    kubectl = smollm2.kubectl
    before = smollm2.pods()
    assert [_status_of(address, ALIAS) for address in two_replicas] == [404, 404]

    kubectl.patch("im", "smollm2", {"spec": {"model": {"aliases": [ALIAS]}}})
    begin = time.monotonic()
    eventually(lambda: all(_status_of(a, ALIAS) == 200 for a in two_replicas), 30)
    took = time.monotonic() - begin
    assert took <= NAME_SECONDS
    eventually(lambda: _state(kubectl, ALIAS) == "Registered", 10)

    kubectl.patch("im", "smollm2", {"spec": {"model": {"aliases": None}}})
    eventually(lambda: _state(kubectl, ALIAS) == "Unregistering", 5)
    assert [_status_of(address, ALIAS) for address in two_replicas] == [200, 200]
    eventually(lambda: all(_status_of(a, ALIAS) == 404 for a in two_replicas), 30)
    eventually(lambda: _state(kubectl, ALIAS) is None, 10)
    assert [_status_of(address, "smollm2") for address in two_replicas] == [200, 200]
    assert smollm2.pods() == before


def _state(kubectl: Kubectl, name: str) -> str | None:
    names = kubectl.json("get", "im", "smollm2")["status"]["names"]
    return next((n["state"] for n in names if n["name"] == name), None)


def test_a_scale_down_lets_the_streams_of_both_pods_end(smollm2: Start, two_replicas: list[str]) -> None:
    with streams("smollm2", two_replicas) as open_streams:
        smollm2.kubectl.run("scale", "im/smollm2", "--replicas=1")
        eventually(lambda: _leaving(smollm2), 10)
        assert not any(one.ended.is_set() for one in open_streams)
    eventually(lambda: len(smollm2.pods()) == 1, 60)


def _leaving(smollm2: Start) -> bool:
    """Whether a pod of the model is being stopped."""
    found = smollm2.kubectl.items("pods", "arriero.dev/model=smollm2")
    return any("deletionTimestamp" in pod["metadata"] for pod in found)


def test_at_rest_nothing_is_written_but_the_lease(stage: Stage, smollm2: Start) -> None:
    kubectl = smollm2.kubectl
    kubectl.run("scale", "im/smollm2", "--replicas=1")
    eventually(lambda: kubectl.json("get", "im", "smollm2")["status"].get("readyReplicas") == 1, 60)
    eventually(lambda: len(smollm2.pods()) == 1, 60)
    smollm2.wait_ready()
    log = AuditLog.now(stage.cluster.audit_log)
    time.sleep(REST_SECONDS)  # the promise is about a span of time
    writes = log.writes(OPERATOR)
    assert {w.resource for w in writes} == {"leases"}, [w for w in writes if w.resource != "leases"]


def test_the_curl_of_the_readme_is_answered(smollm2: Start) -> None:
    smollm2.wait_ready()
    block = next(b for b in README.read_text().split("```") if "curl --json" in b)
    _, _, rest = block.partition("curl ")
    words = shlex.split(rest.replace("\\\n", " "), comments=True)
    ours = [word.replace("qwen", "smollm2") for word in words]
    address = _addresses(smollm2)[0]
    # The Service's name is known inside the cluster alone; the pod is reached from the node too.
    done = run(
        ["curl", "--silent", "--fail-with-body", "--connect-to", f"::{address}:8080", *ours],
        stdout=PIPE,
        timeout=300,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert answer["model"] == "smollm2"
    assert answer["choices"][0]["message"]["content"]


def test_a_service_deleted_by_hand_is_back_within_five_seconds(smollm2: Start) -> None:
    kubectl = smollm2.kubectl
    kubectl.run("delete", "service", "smollm2")
    eventually(lambda: kubectl.exists("service", "smollm2"), 5)


def test_a_node_is_drained_of_a_pod_when_its_stream_has_ended_and_the_model_waits_for_a_node(smollm2: Start) -> None:
    kubectl = smollm2.kubectl
    (address,) = _addresses(smollm2)
    node = kubectl.items("nodes")[0]["metadata"]["name"]
    try:
        with streams("smollm2", [address]) as (stream,):
            # Of the only node, the model's pods alone.
            kubectl.run(
                *("drain", node, "--pod-selector=arriero.dev/model=smollm2", "--ignore-daemonsets"),
                *("--delete-emptydir-data", "--timeout=180s"),
                timeout=200,
            )
            assert stream.ended.is_set()
        eventually(lambda: condition(kubectl.json("get", "im", "smollm2"), "Ready").get("reason") == "Unschedulable")
        assert condition(kubectl.json("get", "im", "smollm2"), "Available")["status"] == "False"
    finally:
        # The pod that waited starts now; the next test scales it away and waits for a new one.
        kubectl.run("uncordon", node)


def test_scaled_to_zero_is_ready_and_not_available_and_scaled_back_it_answers(stage: Stage, smollm2: Start) -> None:
    kubectl = smollm2.kubectl
    kubectl.run("scale", "im/smollm2", "--replicas=0")
    eventually(lambda: condition(kubectl.json("get", "im", "smollm2"), "Ready").get("reason") == "ScaledToZero", 60)
    assert condition(kubectl.json("get", "im", "smollm2"), "Available")["status"] == "False"

    kubectl.run("scale", "im/smollm2", "--replicas=1")
    eventually(lambda: condition(kubectl.json("get", "im", "smollm2"), "Ready").get("status") != "True", 10)
    smollm2.wait_ready()
    assert stage.client.call("ask", smollm2.url, "smollm2", "Hello")["answer"]
