"""A changed runtime image of the profile restarts nothing that ever served, and is told."""

from typing import Any

import pytest

from tests.conftest import MakeOperator
from tests.operator.reconcile.models import model, patch_spec, until
from tests.operator.reconcile.pods import Pods
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl
from tests.support.operator import operator_settings

pytestmark = pytest.mark.control_plane


def profiles(kubectl: Kubectl, image: str) -> dict[str, Any]:
    """The chart's profiles with another image in the default one."""
    found: dict[str, Any] = operator_settings(kubectl.namespace)["profiles"]
    found["nvidia"]["image"] = image
    return found


def test_pods_of_an_older_image_stay_ready_and_are_told(kubectl: Kubectl, operator: MakeOperator) -> None:
    process = operator(profiles=profiles(kubectl, "runtime:1"))
    kubectl.apply(model("tiny"))
    pods = Pods(kubectl, "tiny")
    (pod,) = pods.placed()
    pods.ready(pod)
    until(kubectl, "tiny", "UpToDate", "True", "UpToDate")
    until(kubectl, "tiny", "Ready", "True", "Ready")
    process.stop()
    operator(profiles=profiles(kubectl, "runtime:2"), identity="operator-1")
    found = until(kubectl, "tiny", "UpToDate", "False", "RuntimeOutdated", timeout=20)
    assert "runtime:1" in found["message"]
    assert "runtime:2" in found["message"]
    until(kubectl, "tiny", "Ready", "True", "Ready")
    assert [one["metadata"]["uid"] for one in pods.live()] == [pod["metadata"]["uid"]]
    patch_spec(kubectl, "tiny", {"image": "runtime:2"})
    eventually(lambda: len(pods.live()) == 2)
    until(kubectl, "tiny", "UpToDate", "False", "RollingOut")


def test_a_corrected_image_reaches_a_model_that_never_served(kubectl: Kubectl, operator: MakeOperator) -> None:
    process = operator(profiles=profiles(kubectl, "mistyped:1"))
    kubectl.apply(model("tiny"))
    pods = Pods(kubectl, "tiny")
    (pod,) = pods.placed()
    pods.waiting(pod, "ImagePullBackOff", "not found", None)
    until(kubectl, "tiny", "Ready", "False", "ImagePullFailed")
    process.stop()
    operator(profiles=profiles(kubectl, "runtime:2"), identity="operator-1")

    def corrected() -> Any:
        found = [one for one in pods.live() if one["spec"]["containers"][0]["image"] == "runtime:2"]
        return found and found[0]["spec"].get("nodeName") and found[0]

    pods.ready(eventually(corrected, 20))
    until(kubectl, "tiny", "Ready", "True", "Ready")
    until(kubectl, "tiny", "UpToDate", "True", "UpToDate")
