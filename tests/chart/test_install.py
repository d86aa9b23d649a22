"""Installing, upgrading and uninstalling on a real API server that enforces the restricted Pod Security level."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.chart.rendering import CHART, NAMESPACE
from tests.cluster import ControlPlane
from tests.support.kubectl import Kubectl, KubectlError, Object

pytestmark = pytest.mark.control_plane

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "minimal.yaml")


@pytest.fixture(scope="module")
def kubectl() -> Iterator[Kubectl]:
    plane = ControlPlane.start(f"chart-{os.getpid()}")
    try:
        kubectl = Kubectl(plane.bin, plane.kubeconfig)
        kubectl.run("create", "namespace", NAMESPACE)
        for namespace in (NAMESPACE, "default"):
            kubectl.run("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
        yield kubectl
    finally:
        plane.stop()


@pytest.fixture(autouse=True)
def _uninstalled(kubectl: Kubectl) -> Iterator[None]:
    yield
    _helm(kubectl, "uninstall", "arriero", "--ignore-not-found")


def _helm(kubectl: Kubectl, command: str, release: str, *arguments: str) -> str:
    program = str(kubectl.bin / "helm")
    done = subprocess.run(
        [program, command, release, *arguments, f"--namespace={NAMESPACE}"],
        capture_output=True,
        text=True,
        timeout=120,
        env=kubectl.env,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _install(kubectl: Kubectl, *settings: str, chart: Path = CHART) -> str:
    wait = ("--wait", "--timeout=60s", *(f"--set={setting}" for setting in settings))
    return _helm(kubectl, "upgrade", "arriero", str(chart), "--install", *wait)


def test_the_default_install_passes_the_restricted_level_and_becomes_ready(kubectl: Kubectl) -> None:
    _install(kubectl)
    deployment = kubectl.within(NAMESPACE).json("get", "deployment", "arriero")
    assert deployment["status"]["readyReplicas"] == 1


def test_models_can_be_applied_as_soon_as_the_chart_is_installed(kubectl: Kubectl) -> None:
    _install(kubectl)
    kubectl.run("apply", "--dry-run=server", "-f", EXAMPLE)


def test_an_unknown_field_is_refused_by_the_api_server(kubectl: Kubectl) -> None:
    _install(kubectl)
    text = Path(EXAMPLE).read_text().replace("{uri:", "{url: x, uri:")
    with pytest.raises(KubectlError, match=r'unknown field "spec\.model\.url"'):
        kubectl.run("apply", "--dry-run=server", "-f", "-", stdin=text)


def test_a_changed_value_replaces_the_operators_pod_alone_where_it_matters(kubectl: Kubectl) -> None:
    _install(kubectl)
    before = kubectl.within(NAMESPACE).json("get", "deployment", "arriero")["metadata"]["generation"]
    _install(kubectl)
    assert kubectl.within(NAMESPACE).json("get", "deployment", "arriero")["metadata"]["generation"] == before
    _install(kubectl, "workers=2")
    assert kubectl.within(NAMESPACE).json("get", "deployment", "arriero")["metadata"]["generation"] > before


def test_uninstalling_keeps_the_models_and_installing_again_takes_them_over(kubectl: Kubectl) -> None:
    _install(kubectl)
    kubectl.run("apply", "-f", EXAMPLE)
    _helm(kubectl, "uninstall", "arriero")
    assert kubectl.exists("inferencemodel", "qwen")
    _install(kubectl)
    assert kubectl.exists("inferencemodel", "qwen")


def test_upgrading_brings_the_crd_of_the_new_chart(kubectl: Kubectl, tmp_path: Path) -> None:
    _install(kubectl, chart=_older_chart(tmp_path / "arriero"))
    assert "additionalPrinterColumns" not in _crd_version(kubectl)
    _install(kubectl)
    assert "additionalPrinterColumns" in _crd_version(kubectl)


def _older_chart(folder: Path) -> Path:
    """The chart as it would be with a CRD that has no columns yet."""
    shutil.copytree(CHART, folder)
    template = folder / "templates" / "crd.yaml"
    first, *body, last = template.read_text().splitlines()
    crd = yaml.safe_load("\n".join(body))
    del crd["spec"]["versions"][0]["additionalPrinterColumns"]
    template.write_text("\n".join([first, yaml.safe_dump(crd), last]))
    return folder


def _crd_version(kubectl: Kubectl) -> Object:
    version: Object = kubectl.json("get", "crd", "inferencemodels.arriero.dev")["spec"]["versions"][0]
    return version


def test_named_namespaces_are_granted_and_no_others(kubectl: Kubectl) -> None:
    kubectl.run("create", "namespace", "team-a")
    _install(kubectl, "watchNamespaces={team-a}")
    account = f"--as=system:serviceaccount:{NAMESPACE}:arriero"
    assert kubectl.within("team-a").run("auth", "can-i", "create", "deployments", account).strip() == "yes"
    with pytest.raises(KubectlError):
        kubectl.within("default").run("auth", "can-i", "create", "deployments", account)
