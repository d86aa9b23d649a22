"""The settings file: what is not understood is refused, with the key."""

from pathlib import Path

import pytest

from arriero_operator.configuration.file import SettingsError, load, parse

GOOD = """
watchNamespaces: [team-a]
defaultProfile: cpu
hub: {endpoint: "http://hub.example:8000"}
workers: 4
profiles:
  cpu:
    image: registry.example/runtime:1
    imagePullPolicy: Always
    resources: {limits: {memory: 8Gi, nvidia.com/gpu: 1}, requests: {cpu: 500m}}
    sharedMemory: 2Gi
    engine: {maxModelLen: 4096, args: [--seed=1], env: [{name: A, value: b}]}
    nodeSelector: {pool: gpu}
    tolerations: [{key: gpu, operator: Exists}]
    runtimeClassName: nvidia
    affinity: {nodeAffinity: {}}
    topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
    priorityClassName: serving
    imagePullSecrets: [{name: regcred}]
  small:
    image: registry.example/runtime:1
    resources: {}
    sharedMemory: 512Mi
"""


def test_every_key_reaches_the_settings() -> None:
    settings = parse(GOOD)
    assert settings.watch_namespaces == ("team-a",)
    assert (settings.default_profile, settings.workers) == ("cpu", 4)
    assert settings.hub_endpoint == "http://hub.example:8000"
    profile = settings.profiles["cpu"]
    assert (profile.name, profile.image, profile.image_pull_policy) == ("cpu", "registry.example/runtime:1", "Always")
    assert profile.resources.limits == {"memory": "8Gi", "nvidia.com/gpu": 1}
    assert profile.resources.requests == {"cpu": "500m"}
    assert profile.engine.max_model_len == 4096
    assert profile.engine.env is not None
    assert profile.engine.env[0].value == "b"
    assert (profile.shared_memory, profile.runtime_class_name) == ("2Gi", "nvidia")
    assert profile.node_selector == {"pool": "gpu"}
    assert profile.tolerations == ({"key": "gpu", "operator": "Exists"},)
    assert profile.affinity == {"nodeAffinity": {}}
    assert [one["topologyKey"] for one in profile.topology_spread_constraints] == ["zone"]
    assert (profile.priority_class_name, profile.image_pull_secrets) == ("serving", ("regcred",))


def test_what_a_profile_leaves_out_is_nothing_special() -> None:
    profile = parse(GOOD).profiles["small"]
    assert profile.image_pull_policy == "IfNotPresent"
    assert (profile.node_selector, profile.tolerations, profile.runtime_class_name) == ({}, (), "")
    assert profile.engine.max_model_len is None


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("workers: 4", "workers: 0", "workers: .*greater than or equal to 1"),
        ("workers: 4", "workers: many", "workers: .*integer"),
        ("workers: 4", "", "workers: missing"),
        ("workers: 4", "workers: 4\nwrokers: 4", "wrokers: unknown key"),
        ("watchNamespaces: [team-a]", "watchNamespaces: [Team]", "watchNamespaces.0: "),
        ("http://hub.example:8000", "hub.example", "hub.endpoint: "),
        ("defaultProfile: cpu", "defaultProfile: tpu", "defaultProfile: 'tpu' is not one of the profiles: cpu, small"),
        ("8Gi", "8Gb", "profiles.cpu.resources: '8Gb' is not a quantity"),
        ("sharedMemory: 2Gi", "sharedMemory: two", "profiles.cpu.sharedMemory: 'two' is not a quantity"),
        ("limits:", "limit:", r"profiles\.cpu\.resources\.limit: unknown key"),
        ("maxModelLen", "maxModelLength", r"profiles\.cpu\.engine\.maxModelLength: unknown key"),
        ("value: b", "valeu: b", r"profiles\.cpu\.engine\.env\.0\.valeu: unknown key"),
        ("imagePullPolicy: Always", "imagePullPolicy: Often", "profiles.cpu.imagePullPolicy: "),
        ("nodeSelector", "nodeSelectors", "profiles.cpu.nodeSelectors: unknown key"),
        ("[{name: regcred}]", "[regcred]", "profiles.cpu.imagePullSecrets.0: "),
        ("[{name: regcred}]", "[{secret: regcred}]", r"profiles\.cpu\.imagePullSecrets\.0\.name: missing"),
    ],
)
def test_a_wrong_key_is_named(old: str, new: str, complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint) as refused:
        parse(GOOD.replace(old, new))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "[]", "a: [", "profiles"])
def test_what_is_no_map_of_settings_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(text)
    assert "\n" not in str(refused.value)


def test_an_absent_file_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"settings\.yaml: No such file.*ConfigMap"):
        load(tmp_path / "settings.yaml")
