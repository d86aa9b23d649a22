"""The pod's token changes: the kubelet writes another one, and the old one ends."""

import base64
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from tests.operator.faults.conftest import SMALL, TUNED, serve
from tests.operator.reconcile.models import patch_spec, until
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, KubectlError
from tests.support.operator import OperatorProcess, operator_kubeconfig, operator_settings

pytestmark = pytest.mark.control_plane


def token(kubectl: Kubectl, secret: str) -> str:
    """A token of the operator's account that is worth nothing once the Secret is gone."""
    kubectl.run("create", "secret", "generic", secret)
    return kubectl.run("create", "token", "arriero", "--bound-object-kind=Secret", f"--bound-object-name={secret}")


@pytest.fixture
def mounted(kubectl: Kubectl, tmp_path: Path) -> Path:
    """The folder where a pod finds its token, with one that ends with the Secret `first`."""
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    operator_kubeconfig(kubectl, tmp_path)  # the account and its rights
    cluster = yaml.safe_load(kubectl.kubeconfig.read_text())["clusters"][0]["cluster"]
    (folder / "ca.crt").write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    (folder / "token").write_text(token(kubectl, "first").strip())
    return folder


@pytest.fixture
def in_pod(kubectl: Kubectl, mounted: Path, tmp_path: Path) -> Iterator[OperatorProcess]:
    """An operator that finds the API server as one in a pod does; its watches begin anew every few seconds."""
    config = yaml.safe_load(kubectl.kubeconfig.read_text())
    server = urlsplit(config["clusters"][0]["cluster"]["server"])
    settings = operator_settings(kubectl.namespace)
    settings["profiles"]["nvidia"]["resources"] = SMALL
    env = {
        "KUBERNETES_SERVICE_HOST": str(server.hostname),
        "KUBERNETES_SERVICE_PORT": str(server.port),
        "SERVICE_ACCOUNT": str(mounted),
        "TUNED": '{"watching.watches.STREAM": [3, 4]}',
    }
    process = OperatorProcess(kubectl, tmp_path, settings, None, "operator-0", TUNED, env=env)
    process.start()
    process.wait_ready()
    yield process
    process.stop()


def test_a_rotated_token_is_taken_up_though_the_old_one_ends_at_once(
    in_pod: OperatorProcess, mounted: Path, kubectl: Kubectl
) -> None:
    serve(kubectl)
    old = (mounted / "token").read_text()
    (mounted / "token").write_text(token(kubectl, "second").strip())
    kubectl.run("delete", "secret", "first")

    server = yaml.safe_load(kubectl.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    bare = ("--kubeconfig=/dev/null", f"--server={server}", f"--certificate-authority={mounted / 'ca.crt'}")

    def ended() -> bool:
        try:
            kubectl.run("get", "im", *bare, f"--token={old}")
        except KubectlError as error:
            return "Unauthorized" in str(error) or "logged in" in str(error)
        return False

    eventually(ended, 30)
    patch_spec(kubectl, "tiny", {"replicas": 2})
    eventually(lambda: kubectl.json("get", "deployment", "tiny")["spec"]["replicas"] == 2, 20)
    until(kubectl, "tiny", "Ready", "True", "Ready", timeout=20)
    assert not in_pod.has_ended(), in_pod.tail()
