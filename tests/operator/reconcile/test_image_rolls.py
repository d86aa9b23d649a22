"""A changed image of a profile, or a changed profile, rolled out to one model at a time, where the chart says so."""

from typing import Any

import pytest

from tests.conftest import MakeOperator
from tests.operator.reconcile.models import events, model, patch_spec, read, until
from tests.operator.reconcile.pods import Pods
from tests.operator.reconcile.test_outdated import profiles
from tests.operator.reconcile.test_references import alone
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object

pytestmark = [pytest.mark.control_plane, pytest.mark.full]

MODELS = ("first", "second", "third")
CHANGES = {"references": "Rollout", "images": "OneByOne"}
NOT_FOUND = (
    '{"schemaVersion": 1, "reason": "InvalidArguments", "message": "the new runtime knows no such flag", '
    '"remedy": "Correct spec.engine.args."}'
)


def serve(kubectl: Kubectl) -> None:
    """All models are Ready."""
    for name in MODELS:
        kubectl.apply(model(name))
    for name in MODELS:
        pods = Pods(kubectl, name)
        (pod,) = pods.placed()
        pods.ready(pod)
    for name in MODELS:
        until(kubectl, name, "Ready", "True", "Ready")


def images(kubectl: Kubectl, name: str) -> list[str]:
    """Of the model's live pods."""
    return sorted(pod["spec"]["containers"][0]["image"] for pod in Pods(kubectl, name).live())


def under_way(kubectl: Kubectl, image: str) -> list[str]:
    """Models that have a pod of this image."""
    return [name for name in MODELS if image in images(kubectl, name)]


def moved(kubectl: Kubectl, image: str, count: int) -> None:
    """Wait until so many models have a pod of the image."""
    eventually(lambda: len(under_way(kubectl, image)) == count, 20)


def new_pod(kubectl: Kubectl, name: str, image: str) -> Object:
    """The model's placed pod of the image."""

    def placed() -> list[Object]:
        found = [pod for pod in Pods(kubectl, name).live() if pod["spec"]["containers"][0]["image"] == image]
        return [pod for pod in found if pod["spec"].get("nodeName")]

    return eventually(placed, 20)[0]


def take_turns(kubectl: Kubectl, operator: MakeOperator, why: str, **settings: Any) -> None:
    """Models that are of runtime:1 are moved to runtime:2 by an operator of these settings: one after the other, also
    when it ends with the first one on its way. Those that wait say `why`."""
    process = operator(**settings, identity="operator-1")
    seen: list[str] = []
    for turn in range(len(MODELS)):
        moved(kubectl, "runtime:2", turn + 1)
        (name,) = [one for one in under_way(kubectl, "runtime:2") if one not in seen]
        seen.append(name)
        if turn == 0:
            process.stop()
            operator(**settings, identity="operator-2")
            until(kubectl, name, "UpToDate", "False", "RollingOut", timeout=20)
        for other in MODELS:
            if other not in seen:
                until(kubectl, other, "UpToDate", "False", why, timeout=20)
                assert images(kubectl, other) == ["runtime:1"]
        pods = Pods(kubectl, name)
        pods.ready(new_pod(kubectl, name, "runtime:2"))
        alone(pods)
        until(kubectl, name, "UpToDate", "True", timeout=20)
    assert sorted(seen) == sorted(MODELS)


def test_models_get_it_one_after_the_other_over_a_restart_of_the_operator(
    kubectl: Kubectl, operator: MakeOperator
) -> None:
    process = operator(profiles=profiles(kubectl, "runtime:1"), changes=CHANGES)
    serve(kubectl)
    process.stop()
    take_turns(kubectl, operator, "RuntimeOutdated", profiles=profiles(kubectl, "runtime:2"), changes=CHANGES)
    assert all(images(kubectl, name) == ["runtime:2"] for name in MODELS)


def test_it_stops_at_the_first_failure_and_goes_on_with_an_image_that_works(
    kubectl: Kubectl, operator: MakeOperator
) -> None:
    process = operator(profiles=profiles(kubectl, "runtime:1"), changes=CHANGES)
    serve(kubectl)
    process.stop()
    process = operator(profiles=profiles(kubectl, "runtime:2"), changes=CHANGES, identity="operator-1")
    (name,) = eventually(lambda: under_way(kubectl, "runtime:2"), 20)
    end = {"exitCode": 1, "reason": "Error", "message": NOT_FOUND}
    Pods(kubectl, name).waiting(new_pod(kubectl, name, "runtime:2"), "CrashLoopBackOff", "back-off", end)
    until(kubectl, name, "UpToDate", "False", "RolledBack", timeout=20)
    Pods(kubectl, name).remove_deleted()
    eventually(lambda: images(kubectl, name) == ["runtime:1"])
    until(kubectl, name, "Available", "True")
    for other in MODELS:
        kubectl.run("label", "im", other, "touched=yes")
    process.stop()
    process = operator(profiles=profiles(kubectl, "runtime:2"), changes=CHANGES, identity="operator-2")
    others = [other for other in MODELS if other != name]
    for other in others:
        until(kubectl, other, "UpToDate", "False", "RuntimeOutdated", timeout=20)
        patch_spec(kubectl, other, {"model": {"uri": "hf://org/tiny", "aliases": [f"{other}-chat"]}})
        until(kubectl, other, "UpToDate", "False", "RuntimeOutdated", timeout=20)
    assert under_way(kubectl, "runtime:2") == []
    assert len(events(kubectl, name, "RolledBack")) == 1
    process.stop()
    operator(profiles=profiles(kubectl, "runtime:3"), changes=CHANGES, identity="operator-3")
    (following,) = eventually(lambda: under_way(kubectl, "runtime:3"), 20)
    assert read(kubectl, following)["status"]["readyReplicas"] == 1


def test_a_changed_profile_is_followed_by_one_model_after_the_other_with_the_image_of_that_time(
    kubectl: Kubectl, operator: MakeOperator
) -> None:
    changes = {"references": "Rollout", "profiles": "OneByOne", "images": "Report"}
    process = operator(profiles=profiles(kubectl, "runtime:1"), changes=changes)
    serve(kubectl)
    process.stop()
    larger = profiles(kubectl, "runtime:2")
    larger["nvidia"]["sharedMemory"] = "3Gi"
    take_turns(kubectl, operator, "InputsChanged", profiles=larger, changes=changes)
    volumes = [one for name in MODELS for pod in Pods(kubectl, name).live() for one in pod["spec"]["volumes"]]
    assert [one["emptyDir"]["sizeLimit"] for one in volumes if one["name"] == "shm"] == ["3Gi"] * len(MODELS)
