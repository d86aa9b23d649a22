"""The schema on a real API server, with no operator: what is refused and how, and what `kubectl explain` says."""

import json
from typing import Any

import pytest

from tests.support.kubectl import Kubectl, KubectlError

pytestmark = pytest.mark.control_plane


def _model(**spec: Any) -> dict[str, Any]:
    wanted = {"model": {"uri": "hf://Qwen/Qwen2.5-0.5B-Instruct"}, **spec}
    return {
        "apiVersion": "arriero.dev/v1alpha1",
        "kind": "InferenceModel",
        "metadata": {"name": "qwen"},
        "spec": wanted,
    }


@pytest.mark.parametrize(
    ("spec", "field", "remedy"),
    [
        ({"model": {"uri": "Qwen/Qwen2.5"}}, "spec.model.uri", "hf://ORG/NAME"),
        ({"model": {"uri": "hf://only-a-name"}}, "spec.model.uri", "hf://ORG/NAME"),
        ({"model": {"uri": "pvc://models/../secrets"}}, "spec.model.uri", "remove '..'"),
        ({"model": {"uri": "pvc://models/llama", "revision": "v1"}}, "spec.model", "remove it"),
        ({"model": {"uri": "hf://a/b", "aliases": ["two words"]}}, "spec.model.aliases[0]", "letters, digits"),
        ({"profile": "GPU"}, "spec.profile", "lower-case letters"),
        ({"image": "an image"}, "spec.image", "without spaces"),
        ({"replicas": -1}, "spec.replicas", "greater than or equal to 0"),
        ({"resources": {"limits": {"memory": "lots"}}}, "spec.resources.limits[memory]", "such as 2, 500m or 8Gi"),
        ({"resources": {"limits": {"memory": "-1Gi"}}}, "spec.resources.limits[memory]", "not negative"),
        ({"sharedMemory": "much"}, "spec.sharedMemory", "such as 2, 500m or 8Gi"),
        ({"engine": {"maxModelLen": 0}}, "spec.engine.maxModelLen", "greater than or equal to 1"),
        ({"engine": {"dtype": "fp9"}}, "spec.engine.dtype", 'supported values: "auto"'),
        ({"engine": {"env": [{"name": "1A"}]}}, "spec.engine.env[0].name", "does not begin with a digit"),
        ({"engine": {"env": [{"name": "A", "valueFrom": {}}]}}, "spec.engine.env[0].valueFrom", "exactly one of"),
        ({"serving": {"drainSeconds": 5}}, "spec.serving", "Raise it or lower requestTimeoutSeconds"),
        ({"cache": {}}, "spec.cache.emptyDir", "Required value"),
    ],
    ids=str,
)
def test_a_wrong_field_is_refused_by_name_with_what_to_do(
    kubectl: Kubectl, spec: dict[str, Any], field: str, remedy: str
) -> None:
    with pytest.raises(KubectlError) as refusal:
        kubectl.run("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(_model(**spec)))
    assert field in str(refusal.value)
    assert remedy in str(refusal.value)


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"replicas": 0},
        {"resources": {"limits": {"nvidia.com/gpu": 2, "memory": "24Gi"}, "requests": {"cpu": "1.5"}}},
        {"serving": {"requestTimeoutSeconds": 60, "drainSeconds": 90}},
        {"cache": {"emptyDir": {"sizeLimit": "50Gi"}}, "sharedMemory": "2Gi"},
        {"engine": {"args": ["--kv-cache-dtype=fp8"], "env": [{"name": "A", "value": ""}]}},
    ],
    ids=str,
)
def test_a_right_spec_is_accepted(kubectl: Kubectl, spec: dict[str, Any]) -> None:
    kubectl.run("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(_model(**spec)))


def test_a_field_that_does_not_exist_is_refused_by_a_strict_apply(kubectl: Kubectl) -> None:
    with pytest.raises(KubectlError, match=r"unknown field \"spec\.gpus\""):
        kubectl.run("create", "--validate=strict", "-f", "-", stdin=json.dumps(_model(gpus=1)))


def test_the_smallest_example_is_accepted(kubectl: Kubectl) -> None:
    kubectl.run("apply", "--dry-run=server", "-f", "examples/minimal.yaml")


def test_explain_tells_where_a_model_may_come_from(kubectl: Kubectl) -> None:
    said = " ".join(kubectl.run("explain", "im.spec.model.uri").split())
    for form in ("hf://ORG/NAME", "pvc://CLAIM/PATH", "file:///PATH"):
        assert form in said
    assert "Changing it rolls out new pods." in said
