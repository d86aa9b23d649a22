"""A rollout, an eviction and a deletion let open streams end, as every other way to stop a pod does."""

import json

import pytest

from tests.e2e.conftest import Start, example
from tests.e2e.streaming import Stream, streams
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object

pytestmark = [pytest.mark.node, pytest.mark.engine, pytest.mark.full]

NAME = "muleteer"


def _pods(kubectl: Kubectl) -> list[Object]:
    return kubectl.items("pods", f"arriero.dev/model={NAME}")


def _evict(kubectl: Kubectl, pod: Object) -> None:
    """As a node drain does."""
    name = pod["metadata"]["name"]
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": kubectl.namespace}}
    path = f"/api/v1/namespaces/{kubectl.namespace}/pods/{name}/eviction"
    kubectl.run("create", "--raw", path, "-f", "-", stdin=json.dumps(body))


def _stopped_meanwhile(kubectl: Kubectl, pod: Object, stream: Stream) -> None:
    """The pod is being stopped while its stream is open: else nothing would be shown."""
    eventually(lambda: "deletionTimestamp" in kubectl.json("get", "pod", pod["metadata"]["name"])["metadata"], 30)
    assert not stream.ended.is_set(), stream


def _serving(start: Start) -> Object:
    """The only pod, once the model is Ready and no other pod is left."""
    start.wait_ready()
    eventually(lambda: len(_pods(start.kubectl)) == 1, 60)
    (pod,) = _pods(start.kubectl)
    return pod


def _complete(kubectl: Kubectl) -> list[str]:
    """What the Events say of the model's end."""
    found = [one for one in kubectl.items("events") if one["involvedObject"]["name"] == NAME]
    return [one["message"] for one in found if one["reason"] == "ShutdownComplete"]


def test_a_rollout_an_eviction_and_a_deletion_let_open_streams_end(kubectl: Kubectl) -> None:
    model = example(NAME)
    # The old pod is stopped at once, not when the new one is ready.
    model["spec"]["rollout"] = {"strategy": "Replace"}
    kubectl.apply(model)
    start = Start(kubectl, NAME)
    pod = _serving(start)
    with streams(NAME, [pod["status"]["podIP"]]) as (stream,):
        kubectl.patch("im", NAME, {"spec": {"engine": {"maxNumSeqs": 8}}})
        _stopped_meanwhile(kubectl, pod, stream)
    pod = _serving(start)
    with streams(NAME, [pod["status"]["podIP"]]) as (stream,):
        _evict(kubectl, pod)
        _stopped_meanwhile(kubectl, pod, stream)
    pod = _serving(start)
    with streams(NAME, [pod["status"]["podIP"]]) as (stream,):
        kubectl.run("delete", "im", NAME)
        _stopped_meanwhile(kubectl, pod, stream)
    (said,) = eventually(lambda: _complete(kubectl), 60)
    assert "1 completed, 0 aborted" in said
    assert not _pods(kubectl)
