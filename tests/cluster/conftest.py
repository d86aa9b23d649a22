"""What the tests of the local Kubernetes share; each control plane has a name that no other run uses."""

import os
from collections.abc import Iterator

import pytest

from tests.cluster import Cluster, ControlPlane
from tests.cluster.state import CLUSTER, State
from tests.support.kubectl import Kubectl


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A control plane of this module's own."""
    started = ControlPlane.start(f"test-{os.getpid()}")
    yield started
    started.stop()


@pytest.fixture(scope="module")
def found_running() -> bool:
    """Whether the cluster ran before these tests."""
    return State(CLUSTER).folder.is_dir()


@pytest.fixture
def not_found_running(found_running: bool) -> None:
    """For tests that kill parts of the cluster: not under somebody's hands."""
    if found_running:
        pytest.skip("a cluster ran before the tests: they leave its parts alone (`make cluster-down` first runs them)")


@pytest.fixture(scope="module")
def node(found_running: bool) -> Iterator[Cluster]:
    """The cluster without the product's images; one that ran before the tests is left running."""
    started = Cluster.start(product=False)
    yield started
    if not found_running:
        started.stop()


@pytest.fixture
def on_plane(plane: ControlPlane) -> Kubectl:
    """kubectl of the control plane."""
    return Kubectl(plane.bin, plane.kubeconfig)
