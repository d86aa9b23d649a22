"""Namespaces in which fake pods become ready by themselves; with BY_HAND_SUFFIX as parameter by the test's hand."""

import secrets
from collections.abc import Iterator

import pytest

from tests.cluster import ControlPlane
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl


@pytest.fixture
def namespace(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Iterator[str]:
    """A fresh namespace; the parameter, if any, ends its name."""
    name = f"scale-{secrets.token_hex(4)}{getattr(request, 'param', '')}"
    kubectl = Kubectl(control_plane.bin, control_plane.kubeconfig, name)
    kubectl.run("create", "namespace", name)
    eventually(lambda: kubectl.exists("serviceaccount", "default"))
    yield name
    kubectl.run("delete", "namespace", name, "--wait=false")
    kubectl.run("delete", "pods", "--all", "--grace-period=0", "--force", "--wait=false")
