"""Values are checked before anything is installed, and each of them does something."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from arriero_api.crd import structural
from arriero_api.types import Engine
from tests.chart.rendering import CHART, ChartError, helm, render

MONITORING = "monitoring.coreos.com/v1"
DEFAULTS: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())

OTHER: Mapping[str, Any] = {
    "image.repository": "registry.example.com/arriero-operator",
    "image.tag": "1.2.3",
    "image.pullPolicy": "Always",
    "imagePullSecrets": [{"name": "regcred"}],
    "replicas": 2,
    "watchNamespaces": ["team-a"],
    "defaultProfile": "cpu",
    "hub.endpoint": "https://hub.example.com",
    "workers": 2,
    "crds.install": False,
    "profiles": {"cpu": {"image": "runtime:1"}},
    "resources": {"requests": {"cpu": "1"}},
    "nodeSelector": {"pool": "infra"},
    "tolerations": [{"key": "infra", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "podMonitor.enabled": True,
    "operatorClass": "second",
    "policy.podTemplate": False,
    "policy.images": ["registry.example.com/"],
    "policy.sources": ["hf://our-org/"],
    "policy.serviceTypes": ["ClusterIP"],
    "policy.trustRemoteCode": False,
    "reads.secrets": True,
    "reads.classes": True,
    "changes.references": "Report",
    "changes.profiles": "OneByOne",
    "changes.images": "OneByOne",
    "networkPolicies.enabled": True,
    "networkPolicies.clients": [],
    "networkPolicies.monitoring": [{"namespaceSelector": {}}],
    "networkPolicies.egress": {"sourcePorts": [8443]},
}
"""For each value another than its default."""


NESTED = ("image", "hub", "crds", "podMonitor", "policy", "reads", "changes", "networkPolicies")
"""Values that are maps of values."""

REF = {"secretKeyRef": {"name": "hub", "key": "token"}}


def _paths(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        if name in NESTED:
            yield from (f"{name}.{inner}" for inner in value)
        else:
            yield name


def _nested(path: str, value: Any) -> dict[str, Any]:
    for name in reversed(path.split(".")):
        value = {name: value}
    nested: dict[str, Any] = value
    return nested


@pytest.mark.parametrize("path", [path for path in _paths(DEFAULTS) if path != "podMonitor.labels"])
def test_each_value_changes_what_is_installed(path: str) -> None:
    assert render(_nested(path, OTHER[path]), apis=[MONITORING]) != render(apis=[MONITORING])


def test_the_chart_passes_helms_own_lint() -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", str(CHART))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"replicaCount": 2}, "replicaCount"),
        ({"image": {"registry": "x"}}, "registry"),
        ({"hub": {"endpoint": "hub.example.com"}}, "/hub/endpoint"),
        ({"hub": {"endpoint": "https://user:password@hub.example.com"}}, "/hub/endpoint"),
        ({"workers": 0}, "/workers"),
        ({"watchNamespaces": ["Team_A"]}, "/watchNamespaces/0"),
        ({"profiles": {"nvidia": {"gpus": 1}}}, "gpus"),
        ({"profiles": {"nvidia": {"sharedMemory": "lots"}}}, "/profiles/nvidia/sharedMemory"),
        ({"profiles": {"nvidia": {"engine": {"maxLength": 5}}}}, "maxLength"),
        ({"profiles": {"nvidia": {"engine": {"maxModelLen": 99_999_999}}}}, "/profiles/nvidia/engine/maxModelLen"),
        ({"profiles": {"nvidia": {"engine": {"env": [{"name": "A", "valueFrom": {"fieldRef": {}}}]}}}}, "fieldRef"),
        ({"profiles": {"nvidia": {"engine": {"env": [{"name": "A", "value": "b", "valueFrom": REF}]}}}}, "env/0"),
        ({"profiles": {"nvidia": {"engine": {"gpuMemoryUtilization": 2}}}}, "gpuMemoryUtilization"),
        ({"profiles": {"nvidia": {"engine": {"chatTemplate": {"inline": "x", "file": "y"}}}}}, "chatTemplate"),
        ({"profiles": {"nvidia": {"engine": {"envFrom": [{"prefix": "A"}]}}}}, "envFrom/0"),
        ({"profiles": {"nvidia": {"imagePullSecrets": ["regcred"]}}}, "/profiles/nvidia/imagePullSecrets/0"),
        ({"profiles": {"mine": {}}}, "image"),
        ({"profiles": {"Mine": {"image": "x"}}}, "Mine"),
        ({"podMonitor": {"enabled": "yes"}}, "/podMonitor/enabled"),
        ({"operatorClass": "A B"}, "/operatorClass"),
        ({"policy": {"images": "registry.example.com"}}, "/policy/images"),
        ({"policy": {"serviceTypes": ["ExternalName"]}}, "/policy/serviceTypes/0"),
        ({"reads": {"configMaps": True}}, "configMaps"),
        ({"changes": {"references": "Ignore"}}, "/changes/references"),
        ({"networkPolicies": {"clients": [{"cidr": "10.0.0.0/8"}]}}, "/networkPolicies/clients/0"),
        ({"networkPolicies": {"egress": {"sourcePorts": []}}}, "/networkPolicies/egress/sourcePorts"),
        ({"profiles": {"nvidia": {"podTemplate": {"spec": []}}}}, "/profiles/nvidia/podTemplate/spec"),
    ],
    ids=str,
)
def test_a_wrong_value_is_refused_by_name(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ChartError, match=said):
        render(values)


def test_an_unknown_default_profile_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ChartError, match=r'defaultProfile: profiles has no "amd"; it has: cpu, nvidia'):
        render({"defaultProfile": "amd"})


def test_a_profile_has_the_bounds_of_the_resource() -> None:
    generated = Engine.model_json_schema(by_alias=True)
    resource = structural(generated, generated["$defs"], "engine")["properties"]
    chart = json.loads((CHART / "values.schema.json").read_text())["definitions"]["engine"]["properties"]
    assert chart.keys() == resource.keys()
    for name, field in resource.items():
        for bound in ("minimum", "maximum", "maxItems", "enum"):
            assert chart[name].get(bound) == field.get(bound), f"{name}: {bound}"
