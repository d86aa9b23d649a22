"""Fixtures of the reconcile tests: the test plays the kubelet of its namespace's pods."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import ControlPlane
from tests.cluster.fakenodes import BY_HAND_SUFFIX
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl
from tests.support.operator import OperatorProcess, operator_kubeconfig, operator_settings

_CHILDREN = "deployments,services,configmaps,controllerrevisions"


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A fresh namespace in which nothing but the test writes pod statuses."""
    kubectl = _new_namespace(control_plane)
    yield kubectl.namespace
    _remove(kubectl)


@pytest.fixture(scope="session")
def world(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    """A namespace with a running operator, for tests that leave it running."""
    kubectl, folder = _new_namespace(control_plane), tmp_path_factory.mktemp("operator")
    process = _operator(kubectl, folder)
    yield process
    process.stop()
    _remove(kubectl)


@pytest.fixture
def served(world: OperatorProcess) -> Iterator[Kubectl]:
    """The admin's kubectl in the namespace of the shared operator; the test's models are removed afterwards."""
    kubectl = world.kubectl
    yield kubectl
    kubectl.run("delete", "im", "--all", "--wait=false")
    kubectl.run("delete", _CHILDREN, "-l", "app.kubernetes.io/managed-by=arriero", "--wait=false")

    def empty() -> bool:
        kubectl.run("delete", "pods", "--all", "--grace-period=0", "--force", "--wait=false")
        return not any(kubectl.items(kind) for kind in ("im", "deployments", "pods"))

    eventually(empty, 30)


def _operator(kubectl: Kubectl, folder: Path) -> OperatorProcess:
    kubeconfig = operator_kubeconfig(kubectl, folder)
    process = OperatorProcess(kubectl, folder, operator_settings(kubectl.namespace), kubeconfig)
    process.start()
    process.wait_ready()
    return process


def _new_namespace(plane: ControlPlane) -> Kubectl:
    name = f"test-{secrets.token_hex(4)}{BY_HAND_SUFFIX}"
    kubectl = Kubectl(plane.bin, plane.kubeconfig, name)
    kubectl.run("create", "namespace", name)
    eventually(lambda: kubectl.exists("serviceaccount", "default"))
    return kubectl


def _remove(kubectl: Kubectl) -> None:
    kubectl.run("delete", "namespace", kubectl.namespace, "--wait=false", "--ignore-not-found")
    kubectl.run("delete", "pods", "--all", "--grace-period=0", "--force", "--wait=false")
