"""Fixtures of the reconcile tests: the test plays the kubelet of its namespace's pods."""

import secrets
from collections.abc import Iterator

import pytest

from tests.cluster import ControlPlane
from tests.cluster.fakenodes import BY_HAND_SUFFIX
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A fresh namespace in which nothing but the test writes pod statuses."""
    name = f"test-{secrets.token_hex(4)}{BY_HAND_SUFFIX}"
    kubectl = Kubectl(control_plane.bin, control_plane.kubeconfig, name)
    kubectl.run("create", "namespace", name)
    eventually(lambda: kubectl.exists("serviceaccount", "default"))
    yield name
    kubectl.run("delete", "namespace", name, "--wait=false", "--ignore-not-found")
    kubectl.run("delete", "pods", "--all", "--grace-period=0", "--force", "--wait=false")
