"""The operator's pod: restricted, probed, and started anew when its settings change."""

from typing import Any

import pytest
import yaml

from tests.chart.rendering import CHART, render

POD = render().pod["spec"]
CONTAINER = POD["containers"][0]


def test_the_pod_meets_the_restricted_level() -> None:
    assert POD["securityContext"]["runAsNonRoot"] is True
    assert POD["securityContext"]["runAsUser"] == 65532
    assert POD["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in POD["containers"]:
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
    assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & POD.keys()
    assert all(volume.keys() & {"configMap", "emptyDir"} for volume in POD["volumes"])


def test_its_root_file_system_is_read_only_and_tmp_is_writable() -> None:
    assert CONTAINER["securityContext"]["readOnlyRootFilesystem"] is True
    mounts = {mount["mountPath"]: mount["name"] for mount in CONTAINER["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in POD["volumes"]}
    assert volumes[mounts["/tmp"]]["emptyDir"] == {}


def test_its_settings_are_where_the_operator_reads_them() -> None:
    mounts = {mount["mountPath"]: mount["name"] for mount in CONTAINER["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in POD["volumes"]}
    rendered = render()
    assert volumes[mounts["/etc/arriero"]]["configMap"]["name"] == rendered.one("ConfigMap")["metadata"]["name"]


def test_it_knows_its_own_name_and_namespace() -> None:
    from_itself = [entry for entry in CONTAINER["env"] if "valueFrom" in entry]
    paths = {entry["name"]: entry["valueFrom"]["fieldRef"]["fieldPath"] for entry in from_itself}
    assert paths == {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace"}


def test_releases_of_one_namespace_share_no_lease() -> None:
    def lease(release: str) -> str:
        (container,) = render(release=release).pod["spec"]["containers"]
        (name,) = (entry["value"] for entry in container["env"] if entry["name"] == "LEASE_NAME")
        return str(name)

    assert lease("arriero") == "arriero"
    assert lease("canary") == "canary-arriero"


def test_its_probes_ask_the_port_that_it_names() -> None:
    assert {port["name"]: port["containerPort"] for port in CONTAINER["ports"]} == {"http": 8080}
    assert CONTAINER["livenessProbe"]["httpGet"] == {"path": "/livez", "port": "http"}
    assert CONTAINER["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}


def test_only_the_operators_pod_gets_its_accounts_token() -> None:
    assert render().one("ServiceAccount")["automountServiceAccountToken"] is False
    assert POD["automountServiceAccountToken"] is True


def test_a_change_of_any_setting_starts_it_anew() -> None:
    before = render().pod["metadata"]["annotations"]
    assert render({"hub": {"endpoint": "https://hub.example.com"}}).pod["metadata"]["annotations"] != before
    assert render({"replicas": 2}).pod["metadata"]["annotations"] == before


def test_several_go_to_different_nodes_where_there_are_some() -> None:
    assert "topologySpreadConstraints" not in POD
    pod = render({"replicas": 2}).pod
    (spread,) = pod["spec"]["topologySpreadConstraints"]
    assert (spread["topologyKey"], spread["whenUnsatisfiable"]) == ("kubernetes.io/hostname", "ScheduleAnyway")
    selected = spread["labelSelector"]["matchLabels"]
    assert selected and selected.items() <= pod["metadata"]["labels"].items()


def test_its_image_follows_the_version_of_the_chart() -> None:
    version = yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]
    assert CONTAINER["image"] == f"arriero-operator:{version}"
    profiles = yaml.safe_load((CHART / "values.yaml").read_text())["profiles"]
    assert {profile["image"].rpartition(":")[2] for profile in profiles.values()} == {version}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nodeSelector", {"pool": "infra"}),
        ("tolerations", [{"key": "infra", "operator": "Exists"}]),
        ("affinity", {"nodeAffinity": {}}),
        ("imagePullSecrets", [{"name": "regcred"}]),
    ],
)
def test_it_takes_from_the_values(name: str, value: Any) -> None:
    assert render({name: value}).pod["spec"][name] == value
