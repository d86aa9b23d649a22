"""Deletion always ends, also without the operator."""

from collections.abc import Iterator

import pytest

from tests.demo.install import SYSTEM, Stage
from tests.e2e.conftest import example
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl

pytestmark = pytest.mark.node

CHILDREN = "deployments,services,controllerrevisions,configmaps,pods"


@pytest.fixture
def no_operator(stage: Stage) -> Iterator[None]:
    """The operator is scaled to zero during the test; entered by `next`."""
    system = Kubectl(stage.cluster.bin, stage.cluster.kubeconfig, SYSTEM)
    yield
    system.run("scale", "deployment/arriero", "--replicas=1")
    system.run("rollout", "status", "deployment/arriero", "--timeout=90s", timeout=100)


def test_a_model_deleted_while_the_operator_is_away_leaves_nothing(
    stage: Stage, kubectl: Kubectl, no_operator: None
) -> None:
    model = example("orphan")
    model["spec"]["model"]["uri"] = "hf://nobody/nothing"
    kubectl.apply(model)
    eventually(lambda: len(kubectl.items(CHILDREN, "arriero.dev/model=orphan")) >= 5, 30)

    system = kubectl.within(SYSTEM)
    system.run("scale", "deployment/arriero", "--replicas=0")
    eventually(lambda: not system.items("pods", "app.kubernetes.io/name=arriero"), 60)
    kubectl.run("delete", "im", "orphan", "--timeout=20s")
    eventually(lambda: not kubectl.items(CHILDREN, "arriero.dev/model=orphan"), 90)


def test_a_namespace_with_a_model_goes_away(stage: Stage, kubectl: Kubectl) -> None:
    other = kubectl.within(f"{kubectl.namespace}-gone")
    other.run("create", "namespace", other.namespace)
    model = example("short-lived")
    model["spec"]["model"]["uri"] = "hf://nobody/nothing"
    other.apply(model)
    eventually(lambda: other.items("pods", "arriero.dev/model=short-lived"), 30)
    other.run("delete", "namespace", other.namespace, "--timeout=90s", timeout=100)
