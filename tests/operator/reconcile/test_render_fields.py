"""Typed fields of engine, serving and cache, and the profile's placement, as they reach the pod."""

from dataclasses import replace
from typing import Any

import pytest

from arriero_api import pod
from arriero_api.owned_flags import WRITTEN, flag_names, refused
from arriero_api.types import Engine, EnvVar, Resources, Spec
from arriero_operator.configuration.settings import Profile
from arriero_operator.render import arguments, template
from arriero_operator.render.inputs import Inputs, pod_inputs

CPU = Profile(name="cpu", image="runtime:1", resources=Resources(limits={"memory": "8Gi"}))
OLD = Profile(
    name="nvidia",
    image="runtime:1",
    resources=Resources(limits={"nvidia.com/gpu": 2}, requests={"cpu": "2", "memory": "8Gi"}),
    engine=Engine(args=["--swap-space=1"], env=[EnvVar(name="A", value="profile")]),
    node_selector={"pool": "gpu"},
    tolerations=({"key": "gpu"},),
    runtime_class_name="nvidia",
)
JINJA = "{% for m in messages %}{{ m.content }}\n{% endfor %}"


def inputs(profile: Profile = CPU, **spec: object) -> Inputs:
    """Inputs of a spec for hf://org/tiny."""
    return pod_inputs(Spec.model_validate({"model": {"uri": "hf://org/tiny"}, **spec}), profile)


def pod_of(profile: Profile = CPU, **spec: object) -> dict[str, Any]:
    """The rendered PodSpec, `container` beside its other fields, and the annotations."""
    made = template.pod_template("tiny", inputs(profile, **spec))
    (container,) = made["spec"]["containers"]
    return {**made["spec"], "container": container, "annotations": made["metadata"]["annotations"]}


def volume(spec: dict[str, Any], path: str) -> dict[str, Any]:
    """The volume behind a mount, without its name; {} where nothing is mounted there."""
    names = {mount["mountPath"]: mount["name"] for mount in spec["container"]["volumeMounts"]}
    found: dict[str, Any] = next((one for one in spec["volumes"] if one["name"] == names.get(path)), {})
    return {key: value for key, value in found.items() if key != "name"}


def own_and_engine(spec: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The runtime's own arguments and those of the engine."""
    args = spec["container"]["args"]
    at = args.index("--")
    return args[:at], args[at + 1 :]


@pytest.mark.parametrize(
    ("spec", "digest"),
    [
        ({}, "5e6fae1f3d"),
        (
            {
                "model": {"uri": "pvc://models/tiny"},
                "engine": {
                    "maxModelLen": 512,
                    "dtype": "float32",
                    "enforceEager": True,
                    "maxNumSeqs": 4,
                    "args": ["--seed=1"],
                },
                "cache": {"emptyDir": {"sizeLimit": "9Gi"}},
                "lora": {},
            },
            "85f2a58731",
        ),
        (
            {
                "cache": {"emptyDir": {}},
                "serving": {"requestTimeoutSeconds": 60, "drainSeconds": 90},
                "image": "x",
            },
            "9ad23825dd",
        ),
    ],
    ids=["smallest", "engine", "serving"],
)
def test_the_revision_of_a_spec_of_the_first_release_is_still_the_same(spec: dict[str, Any], digest: str) -> None:
    wanted = Spec.model_validate({"model": {"uri": "hf://org/tiny"}, **spec})
    assert pod_inputs(wanted, OLD, "http://hub.example").hash == digest


def test_typed_fields_of_the_engine_are_flags() -> None:
    _, engine = own_and_engine(
        pod_of(
            engine={
                "tensorParallelSize": 1,
                "pipelineParallelSize": 2,
                "dataParallelSize": 3,
                "quantization": "fp8",
                "gpuMemoryUtilization": 0.85,
                "args": ["--seed=1"],
            }
        )
    )
    assert engine == [
        *("--tensor-parallel-size=1", "--pipeline-parallel-size=2", "--data-parallel-size=3"),
        *("--quantization=fp8", "--gpu-memory-utilization=0.85", "--seed=1"),
    ]


def test_the_spec_goes_before_the_profile_field_by_field() -> None:
    base = replace(
        CPU,
        engine=Engine.model_validate(
            {
                "tensorParallelSize": 4,
                "quantization": "awq",
                "toolCallParser": "hermes",
                "chatFormat": "LlamaStack",
                "chatTemplate": {"inline": "of the profile"},
                "envFrom": [{"configMapRef": {"name": "proxy"}}],
            }
        ),
    )
    found = inputs(
        base, engine={"quantization": "fp8", "chatFormat": "Template", "envFrom": [{"secretRef": {"name": "s"}}]}
    )
    assert (found.tensor_parallel_size, found.quantization, found.tool_call_parser) == (4, "fp8", "hermes")
    assert found.chat_format == "Template"
    assert found.chat_template == {"inline": "of the profile"}
    assert found.env_from == [{"configMapRef": {"name": "proxy"}}, {"secretRef": {"name": "s"}}]


@pytest.mark.parametrize(
    ("limits", "engine", "flag"),
    [
        ({"nvidia.com/gpu": 1}, {}, None),
        ({"nvidia.com/gpu": 8}, {}, 8),
        ({"amd.com/gpu": "4"}, {"pipelineParallelSize": 2}, 2),
        ({"nvidia.com/gpu": 8}, {"pipelineParallelSize": 2, "dataParallelSize": 2}, 2),
        ({"nvidia.com/gpu": 8}, {"tensorParallelSize": 2}, 2),
        ({"nvidia.com/gpu": 2}, {"dataParallelSize": 2}, None),
        ({"nvidia.com/mig-1g.5gb": 2}, {}, None),
        ({"nvidia.com/gpu": 2, "rdma/hca": 8, "memory": "64Gi"}, {}, 2),
        ({}, {"pipelineParallelSize": 4}, None),
    ],
    ids=str,
)
def test_a_layer_is_split_over_the_accelerators_that_the_other_sizes_leave(
    limits: dict[str, Any], engine: dict[str, Any], flag: int | None
) -> None:
    _, flags = own_and_engine(pod_of(resources={"limits": limits}, engine=engine))
    found = [one.partition("=")[2] for one in flags if one.startswith("--tensor-parallel-size")]
    assert found == ([] if flag is None else [str(flag)])


def test_what_the_runtime_does_itself_are_arguments_of_its_own() -> None:
    own, engine = own_and_engine(
        pod_of(
            model={"uri": "hf://org/tiny", "trustRemoteCode": True},
            engine={"toolCallParser": "none", "reasoningParser": "qwen3", "chatFormat": "LlamaStack"},
            serving={"maxTokens": 256},
        )
    )
    assert own[-5:] == [
        *("--trust-remote-code", "--tool-call-parser=none", "--reasoning-parser=qwen3"),
        *("--chat-format=LlamaStack", "--max-tokens=256"),
    ]
    assert engine == []


def test_what_is_not_said_is_no_argument() -> None:
    own, engine = own_and_engine(pod_of())
    assert own[-1] == str(pod.ENDPOINT_DELAY_SECONDS)
    assert engine == []
    assert "envFrom" not in pod_of()["container"]


def test_an_inline_chat_template_is_a_file_of_the_pod_and_part_of_its_revision() -> None:
    spec = pod_of(engine={"chatTemplate": {"inline": JINJA}})
    assert f"--chat-template={pod.CHAT_TEMPLATE_FILE}" in spec["container"]["args"]
    assert spec["annotations"]["arriero.dev/chat-template"] == JINJA
    (item,) = volume(spec, "/etc/arriero/chat-template")["downwardAPI"]["items"]
    assert item == {
        "path": "chat-template.jinja",
        "fieldRef": {"fieldPath": "metadata.annotations['arriero.dev/chat-template']"},
    }
    assert inputs(engine={"chatTemplate": {"inline": JINJA + " "}}).hash != spec["container"]


def test_a_chat_template_of_a_config_map_is_mounted_by_its_key() -> None:
    ref = {"name": "templates", "key": "chatml.jinja"}
    spec = pod_of(engine={"chatTemplate": {"configMapKeyRef": ref}})
    assert volume(spec, "/etc/arriero/chat-template") == {
        "configMap": {"name": "templates", "items": [{"key": "chatml.jinja", "path": "chat-template.jinja"}]}
    }
    assert "arriero.dev/chat-template" not in spec["annotations"]


def test_an_api_key_is_a_file_and_neither_an_argument_nor_a_variable() -> None:
    spec = pod_of(serving={"apiKey": {"secretKeyRef": {"name": "keys", "key": "chat"}}})
    assert f"--api-key-file={pod.API_KEY_FILE}" in spec["container"]["args"]
    assert volume(spec, "/etc/arriero/api-key") == {
        "secret": {"secretName": "keys", "items": [{"key": "chat", "path": "key"}]}
    }
    (mount,) = [one for one in spec["container"]["volumeMounts"] if one["mountPath"] == "/etc/arriero/api-key"]
    assert "subPath" not in mount  # a single file would not follow a changed Secret
    assert [one["name"] for one in spec["container"]["env"]] == [pod.RESOURCE_VARIABLE]


def test_whole_secrets_and_config_maps_become_variables() -> None:
    spec = pod_of(
        engine={
            "envFrom": [{"prefix": "A_", "secretRef": {"name": "a", "optional": True}}, {"configMapRef": {"name": "b"}}]
        }
    )
    assert spec["container"]["envFrom"] == [
        {"prefix": "A_", "secretRef": {"name": "a", "optional": True}},
        {"configMapRef": {"name": "b"}},
    ]


def test_a_claim_that_is_there_holds_the_cache_and_is_known_to_be_shared() -> None:
    spec = pod_of(cache={"persistentVolumeClaim": {"claimName": "models"}})
    assert volume(spec, pod.CACHE_DIR) == {"persistentVolumeClaim": {"claimName": "models"}}
    assert "--shared-cache" in spec["container"]["args"]


def test_a_claim_of_the_models_own_is_named_after_it() -> None:
    spec = pod_of(cache={"claimTemplate": {"size": "10Gi"}})
    assert volume(spec, pod.CACHE_DIR) == {"persistentVolumeClaim": {"claimName": "tiny-cache"}}
    assert "--shared-cache" in spec["container"]["args"]


def test_a_cache_of_the_pod_alone_is_not_shared() -> None:
    spec = pod_of(cache={"emptyDir": {"sizeLimit": "9Gi"}})
    assert volume(spec, pod.CACHE_DIR) == {"emptyDir": {"sizeLimit": "9Gi"}}
    assert "--shared-cache" not in spec["container"]["args"]


def test_a_larger_claim_is_no_new_revision_and_another_kind_of_cache_is() -> None:
    small = inputs(cache={"claimTemplate": {"size": "10Gi"}})
    assert inputs(cache={"claimTemplate": {"size": "20Gi"}}).hash == small.hash
    assert inputs(cache={"persistentVolumeClaim": {"claimName": "tiny-cache"}}).hash != small.hash
    assert inputs().hash != small.hash


def test_the_profiles_placement_reaches_the_pod() -> None:
    affinity: dict[str, Any] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
    }
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    other = spread | {"labelSelector": {"matchLabels": {"app": "x"}}}
    spec = pod_of(
        replace(
            CPU,
            affinity=affinity,
            topology_spread_constraints=(spread, other),
            priority_class_name="serving",
            image_pull_secrets=("regcred", "mirror"),
        )
    )
    assert spec["affinity"] == affinity
    assert spec["topologySpreadConstraints"] == [
        spread | {"labelSelector": {"matchLabels": {"arriero.dev/model": "tiny"}}},
        other,
    ]
    assert spec["priorityClassName"] == "serving"
    assert spec["imagePullSecrets"] == [{"name": "regcred"}, {"name": "mirror"}]


def test_placement_that_the_profile_does_not_name_is_left_to_the_cluster() -> None:
    fields = ("affinity", "topologySpreadConstraints", "priorityClassName", "imagePullSecrets", "nodeSelector")
    assert not [field for field in (*fields, "tolerations", "runtimeClassName") if field in pod_of()]


@pytest.mark.parametrize(
    "change",
    [
        {"engine": {"tensorParallelSize": 2}},
        {"engine": {"quantization": "fp8"}},
        {"engine": {"gpuMemoryUtilization": 0.5}},
        {"engine": {"toolCallParser": "none"}},
        {"engine": {"reasoningParser": "qwen3"}},
        {"engine": {"chatTemplate": {"inline": "x"}}},
        {"engine": {"chatFormat": "LlamaStack"}},
        {"engine": {"envFrom": [{"secretRef": {"name": "a"}}]}},
        {"model": {"uri": "hf://org/tiny", "trustRemoteCode": True}},
        {"serving": {"maxTokens": 5}},
        {"serving": {"apiKey": {"secretKeyRef": {"name": "a", "key": "b"}}}},
        {"cache": {"claimTemplate": {"size": "1Gi"}}},
    ],
    ids=str,
)
def test_what_reaches_the_pod_makes_a_new_revision(change: dict[str, Any]) -> None:
    assert inputs(**change).hash != inputs().hash


@pytest.mark.parametrize(
    "change",
    [
        {"engine": {"chatFormat": "Template"}},
        {"model": {"uri": "hf://org/tiny", "trustRemoteCode": False}},
        {"serving": {"allowRequestAbort": True}},
        {"cache": {"emptyDir": {}}},
    ],
    ids=str,
)
def test_saying_what_is_so_anyway_makes_none(change: dict[str, Any]) -> None:
    assert inputs(**change).hash == inputs().hash


def test_every_flag_that_the_operator_writes_is_refused_in_args() -> None:
    everything = inputs(
        replace(CPU, resources=Resources(limits={"nvidia.com/gpu": 8})),
        engine={
            "pipelineParallelSize": 2,
            "dataParallelSize": 2,
            "quantization": "fp8",
            "gpuMemoryUtilization": 0.5,
            "chatTemplate": {"inline": "x"},
            "maxModelLen": 9,
            "dtype": "float32",
            "enforceEager": True,
            "maxNumSeqs": 4,
        },
        lora={},
    )
    written = arguments.engine_flags(everything)
    assert set(flag_names(written)) == WRITTEN
    assert len(refused(written)) == len(written)
