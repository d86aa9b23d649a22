"""Specs that people get wrong: refused when they are applied, naming field and remedy, or, where Kubernetes has them as
legal, served."""

import copy
import json
from typing import Any

import pytest

from tests.operator.reconcile.models import model, read, until
from tests.operator.reconcile.pods import Pods
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, KubectlError, Object

pytestmark = pytest.mark.control_plane

Json = dict[str, Any]
HF = {"uri": "hf://org/tiny"}
TWINS = [{"name": "de", "uri": "hf://org/de"}, {"name": "de", "uri": "hf://org/de-2"}]
GPUS = {"limits": {"nvidia.com/gpu": 2}}

REFUSED: dict[str, tuple[Json, str, str]] = {
    "negative replicas": ({"replicas": -1}, "spec.replicas", "greater than or equal to 0"),
    "a minimum over its maximum": (
        {"rollout": {"surgeWaitSeconds": 60, "surgeWaitMaxSeconds": 30}},
        "spec.rollout",
        "raise it or lower surgeWaitSeconds",
    ),
    "an unknown field": ({"gpus": 1}, 'unknown field "spec.gpus"', "strict decoding error"),
    "a wrong URI": ({"model": {"uri": "org/tiny"}}, "spec.model.uri", "hf://ORG/NAME"),
    "two adapters of one name": ({"lora": {"adapters": TWINS}}, "spec.lora.adapters[1]", "Duplicate value"),
    "tensor parallelism over the accelerators": (
        {"engine": {"tensorParallelSize": 4}, "resources": GPUS},
        "spec.engine.tensorParallelSize",
        "raise those or lower the sizes",
    ),
    "parallel sizes that are too large together": (
        {"engine": {"tensorParallelSize": 2, "pipelineParallelSize": 2}, "resources": GPUS},
        "pipelineParallelSize",
        "raise those or lower the sizes",
    ),
    "replicas in words": ({"replicas": "two"}, "spec.replicas", "integer"),
    "a drain that would lose requests": ({"serving": {"drainSeconds": 5}}, "spec.serving", "Raise it or lower"),
    "an alias of two words": ({"model": {**HF, "aliases": ["my chat"]}}, "spec.model.aliases[0]", "letters, digits"),
    "a variable with two values": (
        {"engine": {"env": [{"name": "A", "value": "b", "valueFrom": {"secretKeyRef": {"name": "c", "key": "d"}}}]}},
        "spec.engine.env[0]",
        "not both: remove one",
    ),
    "an amount in words": ({"resources": {"limits": {"memory": "lots"}}}, "limits[memory]", "such as 2, 500m or 8Gi"),
    "more active adapters than loaded ones": (
        {"lora": {"maxActive": 8, "maxLoaded": 2}},
        "spec.lora",
        "raise maxLoaded or lower maxActive",
    ),
    "two caches": (
        {"cache": {"emptyDir": {}, "persistentVolumeClaim": {"claimName": "c"}}},
        "spec.cache",
        "exactly one of",
    ),
    "a path out of the claim": ({"model": {"uri": "pvc://claim/../other"}}, "spec.model.uri", "remove '..'"),
    "a name of a Service with an underscore": ({"service": {"name": "my_chat"}}, "spec.service.name", "DNS label"),
    "a port beyond all ports": ({"service": {"port": 70_000}}, "spec.service.port", "less than or equal to 65535"),
    "a label of the operator's own": (
        {"service": {"labels": {"arriero.dev/model": "x"}}},
        "spec.service.labels",
        "remove it",
    ),
    "a profile in capitals": ({"profile": "GPU"}, "spec.profile", "lower-case letters"),
    "a class with a blank": ({"operatorClass": "team a"}, "spec.operatorClass", "lower-case letters, digits and -"),
    "a field beside the parts of a podTemplate": (
        {"podTemplate": {"containers": []}},
        'unknown field "spec.podTemplate.containers"',
        "strict decoding error",
    ),
    "a revision of what has none": (
        {"model": {"uri": "file:///models/tiny", "revision": "main"}},
        "spec.model.revision",
        "remove it",
    ),
}


@pytest.mark.parametrize(("spec", "field", "remedy"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused_when_it_is_applied(kubectl: Kubectl, spec: Json, field: str, remedy: str) -> None:
    with pytest.raises(KubectlError) as refusal:
        kubectl.run("apply", "-f", "-", stdin=json.dumps(model("tiny", **spec)))
    assert field in str(refusal.value)
    assert remedy in str(refusal.value)


@pytest.mark.parametrize("name", ["x" * 70, "llama.3.1", "7b", "a" * 253], ids=["70", "dots", "digit", "253"])
def test_a_legal_name_is_served(served: Kubectl, name: str) -> None:
    _serve(served, name)


def test_two_long_names_of_the_same_beginning_are_two_models(served: Kubectl) -> None:
    begin = "llama-3.1-8b-instruct-quantized-for-the-team-of-" + "x" * 100
    stems = {_serve(served, f"{begin}-{end}") for end in ("a", "b")}
    assert len(stems) == 2
    assert len(served.items("services", "app.kubernetes.io/managed-by=arriero")) == 2


def _serve(kubectl: Kubectl, name: str) -> str:
    """Bring the model to Ready; what its children are named by."""
    kubectl.apply(model(name))
    eventually(lambda: read(kubectl, name).get("status", {}).get("selector"))
    stem = str(read(kubectl, name)["status"]["selector"]).removeprefix("arriero.dev/model=")
    (pod,) = Pods(kubectl, stem).placed()
    Pods(kubectl, stem).ready(pod)
    until(kubectl, name, "Ready", "True", "Ready")
    return stem


LATER: dict[str, tuple[Json, str, str]] = {
    "parallel sizes over the profile's accelerators": (
        {"engine": {"dataParallelSize": 2}},
        "AcceleratorsMismatch",
        "needs 2 accelerators, and a pod has 1",
    ),
    "more shared memory than memory": (
        {"resources": {"limits": {"memory": "1Gi"}}, "sharedMemory": "2Gi"},
        "SharedMemoryTooLarge",
        "lower spec.sharedMemory",
    ),
    "several replicas on a claim of one node": (
        {"replicas": 2, "cache": {"claimTemplate": {"size": "1Gi"}}},
        "ClaimNotShareable",
        "set spec.replicas to 1",
    ),
    "what the operator owns of a pod": (
        {"podTemplate": {"spec": {"restartPolicy": "Never"}}},
        "PodTemplateFieldOwned",
        "spec.podTemplate.spec.restartPolicy",
    ),
}


@pytest.mark.parametrize(("spec", "reason", "words"), LATER.values(), ids=LATER)
def test_what_only_the_operator_can_know_is_refused_before_any_pod(
    served: Kubectl, spec: Json, reason: str, words: str
) -> None:
    wrong: Object = model("tiny", **copy.deepcopy(spec))
    served.apply(wrong)
    found = until(served, "tiny", "Accepted", "False", reason)
    assert words.lower() in found["message"].lower()
    until(served, "tiny", "Stalled", "True", reason)
    assert not served.items("deployments,controllerrevisions", "arriero.dev/model=tiny")
    served.apply(model("tiny"))
    until(served, "tiny", "Accepted", "True")
