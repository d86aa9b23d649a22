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


def _adapters(*names: str, uri: str = "hf://org/support", model: Any = None, **fields: Any) -> dict[str, Any]:
    """A spec with these adapters; `revision` is theirs, other fields are of spec.lora."""
    own = {"revision": fields.pop("revision")} if "revision" in fields else {}
    lora = {**fields, "adapters": [{"name": name, "uri": uri, **own} for name in names]}
    return {"lora": lora} | ({"model": model} if model else {})


def _claim(**fields: Any) -> dict[str, Any]:
    """A spec with a cache of its own claim."""
    return {"cache": {"claimTemplate": {"size": "10Gi"} | fields}}


@pytest.mark.parametrize(
    ("spec", "field", "remedy"),
    [
        ({"model": {"uri": "Qwen/Qwen2.5"}}, "spec.model.uri", "hf://ORG/NAME"),
        ({"model": {"uri": "hf://only-a-name"}}, "spec.model.uri", "hf://ORG/NAME"),
        ({"model": {"uri": "http://host/model"}}, "spec.model.uri", "https://HOST/PATH"),
        ({"model": {"uri": "https://me:pw@host/model"}}, "spec.model.uri", "https://HOST/PATH"),
        ({"model": {"uri": "s3://bucket/a", "revision": "v1"}}, "spec.model", "put the revision into the path"),
        ({"model": {"uri": "https://HuggingFace.co/Qwen/Qwen2.5"}}, "spec.model.uri", "write hf://ORG/NAME"),
        (_adapters("a", uri="https://hf.co/org/a"), "an adapter's uri", "write hf://ORG/NAME"),
        ({"model": {"uri": "Llama9-1B"}}, "spec.model.uri", "Llama3.2-3B-Instruct"),
        ({"model": {"uri": "oci://r/i", "credentials": {"secretName": "a"}}}, "spec.model", "remove them"),
        ({"model": {"uri": "hf://a/b", "credentials": {"secretName": "A"}}}, "spec.model.credentials", "lower-case"),
        (_adapters("a", uri="oci://host/image"), "spec.lora.adapters[0].uri", "only a model is mounted as an image"),
        ({"engine": {"env": [{"name": "HF_TOKEN", "value": "hf_x"}]}}, "spec.engine.env[0]", "spec.model.credentials"),
        ({"model": {"uri": "pvc://models/../secrets"}}, "spec.model.uri", "remove '..'"),
        ({"model": {"uri": "pvc://models/llama", "revision": "v1"}}, "spec.model", "remove it"),
        ({"model": {"uri": "hf://a/b", "revision": "-v1"}}, "spec.model.revision", "not . / - first"),
        (_adapters("a", revision="-v1"), "spec.lora.adapters[0].revision", "not . / - first"),
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
        ({"cache": {}}, "spec.cache", "exactly one of emptyDir"),
        ({"cache": {"emptyDir": {}, "claimTemplate": {"size": "1Gi"}}}, "spec.cache", "exactly one of emptyDir"),
        ({"cache": {"claimTemplate": {}}}, "spec.cache.claimTemplate.size", "Required value"),
        ({"cache": {"claimTemplate": {"size": "big"}}}, "spec.cache.claimTemplate.size", "such as 2, 500m or 8Gi"),
        (_claim(accessModes=["ReadOnlyMany"]), "spec.cache.claimTemplate.accessModes[0]", "supported values:"),
        (_claim(accessModes=[]), "spec.cache.claimTemplate.accessModes", "at least 1 items"),
        (_claim(storageClassName="Fast Disk"), "spec.cache.claimTemplate.storageClassName", "lower-case letters"),
        ({"cache": {"persistentVolumeClaim": {}}}, "spec.cache.persistentVolumeClaim.claimName", "Required value"),
        ({"engine": {"tensorParallelSize": 0}}, "spec.engine.tensorParallelSize", "greater than or equal to 1"),
        ({"engine": {"gpuMemoryUtilization": 1.5}}, "spec.engine.gpuMemoryUtilization", "less than or equal to 1"),
        ({"engine": {"quantization": "FP8"}}, "spec.engine.quantization", "such as fp8, awq"),
        ({"engine": {"toolCallParser": "Hermes 2"}}, "spec.engine.toolCallParser", "such as hermes, or none"),
        ({"engine": {"reasoningParser": "--x"}}, "spec.engine.reasoningParser", "such as hermes, or none"),
        ({"engine": {"chatTemplate": {}}}, "spec.engine.chatTemplate", "exactly one of inline and configMapKeyRef"),
        ({"engine": {"chatTemplate": {"inline": "x" * 65537}}}, "spec.engine.chatTemplate.inline", "65536"),
        (
            {"engine": {"chatTemplate": {"configMapKeyRef": {"name": "a", "key": "../x"}}}},
            "spec.engine.chatTemplate.configMapKeyRef.key",
            "letters, digits and - . _ only",
        ),
        ({"engine": {"chatFormat": "Llama"}}, "spec.engine.chatFormat", 'supported values: "Template", "LlamaStack"'),
        ({"engine": {"envFrom": [{}]}}, "spec.engine.envFrom[0]", "exactly one of secretRef and configMapRef"),
        (
            {"engine": {"envFrom": [{"prefix": "1-", "secretRef": {"name": "a"}}]}},
            "spec.engine.envFrom[0].prefix",
            "does not begin with a digit",
        ),
        ({"serving": {"maxTokens": 0}}, "spec.serving.maxTokens", "greater than or equal to 1"),
        ({"serving": {"apiKey": {}}}, "spec.serving.apiKey.secretKeyRef", "Required value"),
        ({"serving": {"drainSeconds": 5, "allowRequestAbort": False}}, "spec.serving", "or set allowRequestAbort"),
        ({"lora": {"maxRank": 7}}, "spec.lora.maxRank", 'supported values: "8", "16"'),
        ({"lora": {"maxActive": 8, "maxLoaded": 2}}, "spec.lora", "raise maxLoaded or lower maxActive"),
        (_adapters("a", "b", "c", maxLoaded=2, maxActive=1), "spec.lora.adapters", "raise spec.lora.maxLoaded"),
        (_adapters("a", "a"), "spec.lora.adapters[1]", "Duplicate value"),
        (_adapters("two words"), "spec.lora.adapters[0].name", "letters, digits"),
        (_adapters("qwen"), "spec.lora.adapters", "give it another name"),
        (_adapters("chat", model={"uri": "hf://a/b", "aliases": ["chat"]}), "spec.lora.adapters", "another name"),
        (_adapters("own", model={"uri": "hf://a/b", "name": "own"}), "spec.lora.adapters", "another name"),
        (_adapters("a", uri="org/support"), "spec.lora.adapters[0].uri", "hf://ORG/NAME"),
        (_adapters("a", uri="file:///a/../b"), "spec.lora.adapters[0].uri", "remove '..'"),
        (_adapters("a", uri="file:///a", revision="v1"), "spec.lora.adapters[0]", "remove it"),
        (_adapters("a", uri="pvc://other/a", model={"uri": "pvc://models/b"}), "spec.model.uri", "put it there"),
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
        {"cache": {"persistentVolumeClaim": {"claimName": "models"}}},
        {"cache": {"claimTemplate": {"size": 1073741824}}},
        {"serving": {"drainSeconds": 5, "allowRequestAbort": True, "maxTokens": 512}},
        {"serving": {"apiKey": {"secretKeyRef": {"name": "keys", "key": "api.key"}}}},
        {"engine": {"tensorParallelSize": 2, "pipelineParallelSize": 2, "dataParallelSize": 1}},
        {"engine": {"quantization": "fp8", "gpuMemoryUtilization": 0.9, "toolCallParser": "none"}},
        {"engine": {"gpuMemoryUtilization": 1, "chatFormat": "LlamaStack", "chatTemplate": {"inline": "{{ x }}\n"}}},
        {"engine": {"envFrom": [{"secretRef": {"name": "a"}}, {"prefix": "A_", "configMapRef": {"name": "b"}}]}},
        {"model": {"uri": "hf://a/b", "trustRemoteCode": True}},
        {"lora": {}},
        _adapters("a", "b", revision="v1"),
        _adapters("qwen", model={"uri": "hf://a/b", "name": "own"}),
        _adapters("a", uri="pvc://models/adapters/a", model={"uri": "pvc://models/base"}),
    ],
    ids=str,
)
def test_a_right_spec_is_accepted(kubectl: Kubectl, spec: dict[str, Any]) -> None:
    kubectl.run("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(_model(**spec)))


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (_claim(), _claim(size="5Gi"), "cannot be made smaller"),
        (_claim(), _claim(storageClassName="fast"), "storageClassName of a claim cannot be changed"),
        (
            _claim(accessModes=["ReadWriteOnce"]),
            _claim(accessModes=["ReadWriteMany"]),
            "accessModes of a claim cannot be changed",
        ),
        (_claim(), _claim(size="20Gi"), ""),
        (_claim(), {"cache": {"emptyDir": {}}}, ""),
    ],
    ids=str,
)
def test_a_claim_for_the_cache_grows_and_changes_in_no_other_way(
    kubectl: Kubectl, before: dict[str, Any], after: dict[str, Any], words: str
) -> None:
    kubectl.apply(_model(**before))
    try:
        kubectl.apply(_model(**after))
    except KubectlError as refusal:
        assert words and words in str(refusal)
    else:
        assert not words
    finally:
        kubectl.run("delete", "im", "qwen", "--wait=false")


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
