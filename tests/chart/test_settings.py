"""The settings that the chart writes are the settings that the operator reads."""

from arriero_operator.configuration import file
from tests.chart.rendering import render


def test_the_operator_reads_the_default_settings() -> None:
    read = file.parse(render().settings)
    assert read.watch_namespaces == ()
    assert read.default_profile == "nvidia"
    assert read.hub_endpoint == ""
    assert read.profiles.keys() == {"nvidia", "cpu"}
    nvidia = read.profiles["nvidia"]
    assert nvidia.resources.limits == {"nvidia.com/gpu": 1}
    assert nvidia.shared_memory == "2Gi"
    environment = {entry.name: entry.value for entry in read.profiles["cpu"].engine.env or []}
    assert environment == {"VLLM_CPU_KVCACHE_SPACE": "1"}


def test_every_value_for_models_reaches_the_operator() -> None:
    profile = {
        "image": "registry.example.com/runtime:2",
        "imagePullPolicy": "Always",
        "resources": {"limits": {"amd.com/gpu": 2}, "requests": {"cpu": "3"}},
        "sharedMemory": "3Gi",
        "engine": {
            "maxModelLen": 4096,
            "dtype": "float16",
            "enforceEager": True,
            "maxNumSeqs": 8,
            "tensorParallelSize": 2,
            "gpuMemoryUtilization": 0.85,
            "toolCallParser": "hermes",
            "chatTemplate": {"inline": "{{ messages }}"},
            "envFrom": [{"configMapRef": {"name": "proxy"}}],
            "args": ["--kv-cache-dtype=fp8"],
            "env": [{"name": "A", "value": "b"}],
        },
        "nodeSelector": {"pool": "gpu"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "runtimeClassName": "rocm",
        "affinity": {"nodeAffinity": {}},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
        "priorityClassName": "serving",
        "imagePullSecrets": [{"name": "regcred"}],
    }
    values = {
        "watchNamespaces": ["team-a"],
        "defaultProfile": "amd",
        "hub": {"endpoint": "https://hub.example.com"},
        "workers": 7,
        "profiles": {"amd": profile},
    }
    read = file.parse(render(values).settings)
    assert (read.watch_namespaces, read.default_profile, read.workers) == (("team-a",), "amd", 7)
    assert read.hub_endpoint == "https://hub.example.com"
    amd = read.profiles["amd"]
    assert amd.image == "registry.example.com/runtime:2"
    assert amd.image_pull_policy == "Always"
    assert amd.resources.model_dump() == profile["resources"]
    assert amd.shared_memory == "3Gi"
    assert amd.engine.model_dump(by_alias=True, exclude_none=True) == profile["engine"]
    assert amd.node_selector == {"pool": "gpu"}
    assert amd.tolerations == ({"key": "gpu", "operator": "Exists"},)
    assert amd.runtime_class_name == "rocm"
    assert amd.affinity == {"nodeAffinity": {}}
    assert [one["topologyKey"] for one in amd.topology_spread_constraints] == ["zone"]
    assert (amd.priority_class_name, amd.image_pull_secrets) == ("serving", ("regcred",))


def test_a_profile_of_ones_own_needs_nothing_but_an_image() -> None:
    read = file.parse(render({"profiles": {"small": {"image": "runtime:1"}}}).settings)
    small = read.profiles["small"]
    assert (small.image, small.image_pull_policy, small.shared_memory) == ("runtime:1", "IfNotPresent", "2Gi")
    assert small.resources.limits is None


def test_a_profile_of_the_chart_can_be_left_out() -> None:
    read = file.parse(render({"defaultProfile": "cpu", "profiles": {"nvidia": None}}).settings)
    assert read.profiles.keys() == {"cpu"}
