"""Every typed field at once, through the API server: what the resource says is what the pod is."""

import pytest

from tests.operator.reconcile.models import model, patch_spec, until
from tests.operator.reconcile.pods import Pods
from tests.support.kubectl import Kubectl

pytestmark = pytest.mark.control_plane

JINJA = "{%- for m in messages %}\n{{ m['content'] }} $(HOME) \"quoted\"\n{%- endfor %}\n"
ENGINE = {
    "tensorParallelSize": 2,
    "pipelineParallelSize": 1,
    "dataParallelSize": 1,
    "quantization": "fp8",
    "gpuMemoryUtilization": 0.5,
    "toolCallParser": "hermes",
    "reasoningParser": "none",
    "chatTemplate": {"inline": JINJA},
    "chatFormat": "LlamaStack",
    "envFrom": [{"prefix": "P_", "configMapRef": {"name": "proxy"}}, {"secretRef": {"name": "more", "optional": True}}],
}
SERVING = {
    "maxTokens": 64,
    "requestTimeoutSeconds": 60,
    "drainSeconds": 5,
    "allowRequestAbort": True,
    "apiKey": {"secretKeyRef": {"name": "keys", "key": "chat"}},
}


def test_a_model_with_every_typed_field_gets_pods_that_have_them(served: Kubectl) -> None:
    served.run("create", "configmap", "proxy", "--from-literal=HTTP_PROXY=http://proxy.example:3128")
    source = {"uri": "hf://org/tiny", "trustRemoteCode": True}
    resources = {"limits": {"nvidia.com/gpu": 2}}
    served.apply(model("tiny", model=source, engine=ENGINE, serving=SERVING, resources=resources))
    (pod,) = Pods(served, "tiny").placed()
    (container,) = pod["spec"]["containers"]
    at = container["args"].index("--")
    assert container["args"][at - 6 : at] == [
        *("--trust-remote-code", "--tool-call-parser=hermes", "--reasoning-parser=none", "--chat-format=LlamaStack"),
        *("--max-tokens=64", "--api-key-file=/etc/arriero/api-key/key"),
    ]
    assert container["args"][at + 1 :] == [
        *("--tensor-parallel-size=2", "--pipeline-parallel-size=1", "--data-parallel-size=1"),
        *("--quantization=fp8", "--gpu-memory-utilization=0.5"),
        "--chat-template=/etc/arriero/chat-template/chat-template.jinja",
    ]
    assert [one.get("prefix", "") for one in container["envFrom"]] == ["P_", ""]
    assert pod["metadata"]["annotations"]["arriero.dev/chat-template"] == JINJA
    assert pod["spec"]["terminationGracePeriodSeconds"] == 10 + 5 + 15 + 5
    served.run("delete", "configmap", "proxy")


def test_a_flag_that_has_a_field_is_refused_with_it_and_clears_by_itself(served: Kubectl) -> None:
    served.apply(model("tiny", engine={"args": ["-tp", "2", "--reasoning_parser=qwen3"]}))
    found = until(served, "tiny", "Accepted", "False", "EngineFlagOwned")
    assert "use spec.engine.tensorParallelSize" in found["message"]
    assert "use spec.engine.reasoningParser" in found["message"]
    patch_spec(served, "tiny", {"engine": {"args": ["--seed=1"]}})
    until(served, "tiny", "Accepted", "True")
