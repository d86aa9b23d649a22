"""A profile that becomes another, by the chart's own rule: pods are replaced, once."""

import pytest

from tests.operator.reconcile.models import events, model, until
from tests.operator.reconcile.pods import Pods
from tests.operator.reconcile.test_references import Start, ready, start, successor
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl
from tests.support.operator import operator_settings

pytestmark = pytest.mark.control_plane

__all__ = ["start"]


def test_a_profile_that_becomes_another_replaces_the_pods_once_and_another_image_of_it_none(
    kubectl: Kubectl, start: Start
) -> None:
    process = start()
    kubectl.apply(model("tiny"))
    old = ready(kubectl)
    profiles = operator_settings(kubectl.namespace)["profiles"]
    profiles["nvidia"]["sharedMemory"] = "3Gi"
    process.stop()
    process = start(profiles=profiles)
    new = successor(kubectl, old)
    (volume,) = (one for one in new["spec"]["volumes"] if one["name"] == "shm")
    assert volume["emptyDir"]["sizeLimit"] == "3Gi"
    until(kubectl, "tiny", "Ready", "True", "Ready")
    assert len(events(kubectl, "tiny", "RolloutStarted")) == 1
    process.stop()
    profiles["nvidia"]["image"] = "registry.example.com/runtime:another"
    start(profiles=profiles)
    eventually(lambda: until(kubectl, "tiny", "UpToDate", "False", "RuntimeOutdated"), 20)
    until(kubectl, "tiny", "Ready", "True", "Ready")
    assert [one["metadata"]["uid"] for one in Pods(kubectl, "tiny").live()] == [new["metadata"]["uid"]]
