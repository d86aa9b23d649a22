"""Deletion always ends, also without the operator."""

from collections.abc import Callable, Iterator

import pytest

from tests.demo.install import SYSTEM, Stage
from tests.e2e.conftest import example
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl

pytestmark = pytest.mark.node

CHILDREN = "deployments,services,controllerrevisions,configmaps,pods"


@pytest.fixture
def operator_pods(stage: Stage) -> Iterator[Callable[[int], None]]:
    """Sets how many pods the operator has, by the chart's value, and waits for them; it is one again after the test."""
    system = Kubectl(stage.cluster.bin, stage.cluster.kubeconfig, SYSTEM)

    def run(replicas: int) -> None:
        upgrade = ("helm", "upgrade", "arriero", "charts/arriero", "-n", SYSTEM, "--reuse-values")
        stage.tools.run(*upgrade, "--set", f"replicas={replicas}", "--wait")
        eventually(lambda: len(system.items("pods", "app.kubernetes.io/name=arriero-operator")) == replicas, 60)

    assert len(system.items("pods", "app.kubernetes.io/name=arriero-operator")) == 1
    yield run
    run(1)


def test_a_model_deleted_while_the_operator_is_away_leaves_nothing(
    kubectl: Kubectl, operator_pods: Callable[[int], None]
) -> None:
    model = example("orphan")
    model["spec"]["model"]["uri"] = "hf://nobody/nothing"
    kubectl.apply(model)
    eventually(lambda: len(kubectl.items(CHILDREN, "arriero.dev/model=orphan")) >= 5, 30)

    operator_pods(0)
    kubectl.run("delete", "im", "orphan", "--timeout=20s")
    eventually(lambda: not kubectl.items(CHILDREN, "arriero.dev/model=orphan"), 90)


def test_a_namespace_with_a_model_goes_away(kubectl: Kubectl) -> None:
    other = kubectl.within(f"{kubectl.namespace}-gone")
    other.run("create", "namespace", other.namespace)
    model = example("short-lived")
    model["spec"]["model"]["uri"] = "hf://nobody/nothing"
    other.apply(model)
    eventually(lambda: other.items("pods", "arriero.dev/model=short-lived"), 30)
    other.run("delete", "namespace", other.namespace, "--timeout=90s", timeout=100)
