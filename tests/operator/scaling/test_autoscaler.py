"""A real HorizontalPodAutoscaler on the scale subresource; only the metric that it reads is the test's.

One owner of the number at each level: of the InferenceModel's the autoscaler, of the Deployment's the operator.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from arriero_api.contract import Phase, Progress, RuntimeStatus
from tests.cluster.fakenodes import BY_HAND_SUFFIX
from tests.conftest import MakeOperator
from tests.operator.reconcile.models import model, patch_spec, read, until
from tests.operator.reconcile.pods import Pods
from tests.operator.reconcile.runtime import scripted_runtime
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object, condition
from tests.support.metrics_api import Metrics, metrics_api

pytestmark = pytest.mark.control_plane

BY_HAND = pytest.mark.parametrize("namespace", [BY_HAND_SUFFIX], indirect=True)
_SMALL = {"limits": {"nvidia.com/gpu": 1}, "requests": {"cpu": "1m", "memory": "1Mi"}}
PER_POD = 10


@contextmanager
def autoscaled(kubectl: Kubectl, folder: Path, most: int = 4) -> Iterator[Metrics]:
    """An autoscaler of the model `tiny`: a replica for each ten that wait."""
    with metrics_api(kubectl, folder) as metrics:
        metrics.values["waiting"] = PER_POD
        kubectl.apply(_autoscaler(most))
        yield metrics
        kubectl.run("delete", "hpa", "tiny")


def _autoscaler(most: int) -> Object:
    metric = {"metric": {"name": "waiting"}, "target": {"type": "AverageValue", "averageValue": str(PER_POD)}}
    at_once = {"stabilizationWindowSeconds": 0, "policies": [{"type": "Pods", "value": 10, "periodSeconds": 1}]}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "tiny"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "arriero.dev/v1alpha1", "kind": "InferenceModel", "name": "tiny"},
            "minReplicas": 1,
            "maxReplicas": most,
            "metrics": [{"type": "External", "external": metric}],
            "behavior": {"scaleUp": at_once, "scaleDown": at_once},
        },
    }


def without_replicas(**spec: object) -> Object:
    """A manifest that leaves the number to the autoscaler, as a user keeps it."""
    return model("tiny", resources=_SMALL, **spec)


def wants(kubectl: Kubectl, replicas: int) -> None:
    """Wait until the resource and the Deployment both have that number."""

    def look() -> bool:
        deployed = kubectl.json("get", "deployment", "tiny")["spec"]["replicas"]
        found = (read(kubectl, "tiny")["spec"]["replicas"], deployed)
        assert found == (replicas, replicas), found
        return True

    eventually(look, 30)


def owners(obj: Object, field: str) -> set[tuple[str, str]]:
    """Who owns the field of the spec: managers and the subresource that they wrote."""
    return {
        (one["manager"], one.get("subresource", ""))
        for one in obj["metadata"]["managedFields"]
        if field in one["fieldsV1"].get("f:spec", {})
    }


def test_an_autoscaler_owns_the_models_number_and_the_operator_the_deployments(
    kubectl: Kubectl, operator: MakeOperator, tmp_path: Path
) -> None:
    operator()
    kubectl.apply(without_replicas())
    until(kubectl, "tiny", "Ready", "True", "Ready", timeout=20)
    with autoscaled(kubectl, tmp_path) as metrics:
        metrics.values["waiting"] = 3 * PER_POD
        wants(kubectl, 3)
        until(kubectl, "tiny", "Ready", "True", "Ready", timeout=20)
        stored = kubectl.json("get", "im", "tiny", "--show-managed-fields")
        assert owners(stored, "f:replicas") == {("kube-controller-manager", "scale")}
        deployed = kubectl.json("get", "deployment", "tiny", "--show-managed-fields")
        assert owners(deployed, "f:replicas") == {("arriero", "")}
        # A manifest without the number keeps the autoscaler's, both ways to apply it.
        kubectl.apply(without_replicas(rollout={"surgeWaitSeconds": 40}))
        until(kubectl, "tiny", "UpToDate", "True", timeout=20)
        manifest = json.dumps(without_replicas(rollout={"surgeWaitSeconds": 50}))
        kubectl.run("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifest)
        wants(kubectl, 3)
        # Whoever scales the Deployment is put right.
        kubectl.run("scale", "deployment/tiny", "--replicas=1")
        wants(kubectl, 3)
        metrics.values["waiting"] = PER_POD
        wants(kubectl, 1)


@pytest.mark.full
def test_a_model_that_is_scaled_to_zero_is_left_there_by_its_autoscaler(
    kubectl: Kubectl, operator: MakeOperator, tmp_path: Path
) -> None:
    operator()
    kubectl.apply(without_replicas())
    with autoscaled(kubectl, tmp_path) as metrics:
        metrics.values["waiting"] = 2 * PER_POD
        wants(kubectl, 2)
        kubectl.run("scale", "im/tiny", "--replicas=0")
        until(kubectl, "tiny", "Ready", "True", "ScaledToZero", timeout=20)

        def given_up() -> bool:
            return condition(kubectl.json("get", "hpa", "tiny"), "ScalingActive").get("reason") == "ScalingDisabled"

        eventually(given_up, 20)
        wants(kubectl, 0)
        kubectl.run("scale", "im/tiny", "--replicas=1")
        wants(kubectl, 2)


@pytest.mark.full
@BY_HAND
def test_an_autoscaler_in_the_middle_of_a_rollout_costs_no_serving_pod(
    kubectl: Kubectl, operator: MakeOperator, tmp_path: Path
) -> None:
    operator()
    pods = Pods(kubectl, "tiny")
    kubectl.apply(without_replicas())
    with autoscaled(kubectl, tmp_path) as metrics:
        metrics.values["waiting"] = 2 * PER_POD
        old = pods.placed(2)
        for pod in old:
            pods.ready(pod)
        until(kubectl, "tiny", "Ready", "True", "Ready", timeout=20)
        patch_spec(kubectl, "tiny", {"engine": {"maxModelLen": 2048}})
        pods.placed(3)
        metrics.values["waiting"] = 3 * PER_POD
        wants(kubectl, 3)
        names = {pod["metadata"]["name"] for pod in old}

        def onward() -> bool:
            """New pods become ready one after the other; those of before serve as long as they are needed."""
            for pod in pods.live():
                if pod["metadata"]["name"] not in names and not _is_ready(pod):
                    pods.ready(pod)
            assert sum(_is_ready(pod) for pod in pods.live()) >= 2
            pods.remove_deleted()
            live = pods.live()
            return len(live) == 3 and all(_is_ready(one) and one["metadata"]["name"] not in names for one in live)

        eventually(onward, 40)
        until(kubectl, "tiny", "Ready", "True", "Ready", timeout=20)


@BY_HAND
def test_a_pod_that_has_come_furthest_outlasts_a_change_of_mind(
    kubectl: Kubectl, operator: MakeOperator, tmp_path: Path
) -> None:
    operator()
    pods = Pods(kubectl, "tiny")
    kubectl.apply(without_replicas())
    with (
        autoscaled(kubectl, tmp_path) as metrics,
        scripted_runtime() as early,
        scripted_runtime() as late,
        scripted_runtime() as far,
    ):
        metrics.values["waiting"] = 3 * PER_POD
        early.status = RuntimeStatus(Phase.DOWNLOADING, Progress(20, "a fifth"))
        late.status = RuntimeStatus(Phase.RESOLVING)
        far.status = RuntimeStatus(Phase.LOADING, Progress(70, "most of it"))
        loading = pods.placed(3)
        # The youngest is the furthest: by age alone it would be the first to go.
        for pod, runtime in zip(loading, (early, late, far), strict=True):
            pods.run(pod, runtime.ip)
        eventually(lambda: all(one.asked > 1 for one in (early, late, far)), 20)
        metrics.values["waiting"] = PER_POD
        wants(kubectl, 1)
        (left,) = pods.placed(1)
        assert left["metadata"]["name"] == loading[2]["metadata"]["name"]


def _is_ready(pod: Object) -> bool:
    return condition(pod, "Ready").get("status") == "True"
