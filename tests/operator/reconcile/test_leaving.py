"""A child that is on its way out, and a Deployment that somebody has paused: neither stops the rest of the model."""

from typing import Any

import pytest

from tests.operator.reconcile.models import model, patch_spec, says, until
from tests.operator.reconcile.test_control_plane import serve
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl

pytestmark = pytest.mark.control_plane

HOLDER = "example.com/cleans-up-first"


def replicas(kubectl: Kubectl) -> int:
    return int(kubectl.json("get", "deployment", "tiny")["spec"]["replicas"])


def names_files(kubectl: Kubectl) -> str:
    return str([one["data"] for one in kubectl.items("configmaps", "arriero.dev/model=tiny")])


@pytest.mark.parametrize("kind", ["service", "configmap", "controllerrevision"])
def test_a_child_that_a_finalizer_holds_is_told_and_the_rest_of_the_model_goes_on(served: Kubectl, kind: str) -> None:
    serve(served)
    held = served.items(kind, "arriero.dev/model=tiny")[0]["metadata"]
    served.patch(kind, held["name"], {"metadata": {"finalizers": [HOLDER]}})
    served.run("delete", kind, held["name"], "--wait=false")
    try:
        goes_on(served, kind, held["name"])
    finally:
        served.patch(kind, held["name"], {"metadata": {"finalizers": None}})

    def anew() -> bool:
        found = [one["metadata"]["uid"] for one in served.items(kind, "arriero.dev/model=tiny")]
        return bool(found) and held["uid"] not in found

    eventually(anew, 20)
    eventually(lambda: not says(served, "tiny", "Ready", "False", "ChildLeaving"), 20)


def goes_on(served: Kubectl, kind: str, name: str) -> None:
    """The child is told, and what does not need it is done."""
    found = until(served, "tiny", "Ready", "False", "ChildLeaving")
    assert name in found["message"]
    assert HOLDER in found["message"]
    assert says(served, "tiny", "Available", "True")
    served.run("scale", "im/tiny", "--replicas=2")
    eventually(lambda: replicas(served) == 2)
    if kind != "configmap":  # which holds the names itself
        patch_spec(served, "tiny", {"model": {"uri": "hf://org/tiny", "aliases": ["chat"]}})
        eventually(lambda: "chat" in names_files(served))


def test_a_claim_that_its_pods_hold_stops_no_change_of_replicas_and_comes_back_after_them(served: Kubectl) -> None:
    volume = f"pv-{served.namespace}"
    served.apply(persistent_volume(volume, served.namespace))
    try:
        pods = serve(served, cache={"claimTemplate": {"size": "1Gi", "storageClassName": "manual"}})
        before = served.json("get", "pvc", "tiny-cache")["metadata"]["uid"]
        served.run("delete", "pvc", "tiny-cache", "--wait=false")
        assert "pvc-protection" in until(served, "tiny", "Ready", "False", "ChildLeaving")["message"]
        served.run("scale", "im/tiny", "--replicas=0")

        def made_anew() -> bool:
            pods.remove_deleted()
            found = served.items("pvc", "arriero.dev/model=tiny")
            return [one["metadata"]["uid"] != before for one in found] == [True]

        eventually(made_anew, 30)
        served.run("scale", "im/tiny", "--replicas=1")
        eventually(lambda: replicas(served) == 1)
    finally:
        served.run("delete", "pv", volume, "--wait=false")


def test_a_spec_that_is_refused_begins_no_rollout_that_waited_for_a_claim(served: Kubectl) -> None:
    volume = f"pv-{served.namespace}"
    served.apply(persistent_volume(volume, served.namespace))
    try:
        pods = serve(served, cache={"claimTemplate": {"size": "1Gi", "storageClassName": "manual"}})
        before = served.json("get", "deployment", "tiny")["spec"]["template"]
        served.run("delete", "pvc", "tiny-cache", "--wait=false")
        until(served, "tiny", "Ready", "False", "ChildLeaving")
        patch_spec(served, "tiny", {"engine": {"maxModelLen": 512}})
        until(served, "tiny", "Ready", "False", "ChildLeaving")
        serving = {pod["metadata"]["uid"] for pod in pods.live()}
        patch_spec(served, "tiny", {"profile": "unknown"})
        until(served, "tiny", "Accepted", "False", "ProfileUnknown")
        # A service that comes back shows that all of the model was worked on since.
        served.run("delete", "service", "tiny")
        eventually(lambda: served.exists("service", "tiny"), 5)
        assert served.json("get", "deployment", "tiny")["spec"]["template"] == before
        assert {pod["metadata"]["uid"] for pod in pods.live()} == serving
        until(served, "tiny", "Available", "True")
    finally:
        served.run("delete", "pv", volume, "--wait=false")


@pytest.mark.parametrize("kind", ["service", "configmap", "pvc", "deployment"])
def test_what_a_deleted_model_of_the_name_has_left_is_told_while_a_finalizer_holds_it(
    served: Kubectl, kind: str
) -> None:
    spec = {"cache": {"claimTemplate": {"size": "1Gi", "storageClassName": "manual"}}, "replicas": 0}
    served.apply(model("tiny", **spec))
    until(served, "tiny", "Ready", "True", "ScaledToZero")
    held = served.items(kind, "arriero.dev/model=tiny")[0]["metadata"]
    served.patch(kind, held["name"], {"metadata": {"finalizers": [HOLDER]}})
    served.run("delete", "im", "tiny")
    try:
        served.apply(model("tiny", **spec))
        found = until(served, "tiny", "Ready", "False", "ChildLeaving", timeout=20)
        assert held["name"] in found["message"]
        assert HOLDER in found["message"]
    finally:
        served.patch(kind, held["name"], {"metadata": {"finalizers": None}})
    until(served, "tiny", "Ready", "True", "ScaledToZero", timeout=30)


def persistent_volume(name: str, namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "hostPath": {"path": "/nowhere"},
            "storageClassName": "manual",
            "claimRef": {"namespace": namespace, "name": "tiny-cache"},
        },
    }


def test_a_deployment_that_is_paused_by_hand_rolls_all_the_same(served: Kubectl) -> None:
    serve(served)
    before = served.json("get", "deployment", "tiny")["spec"]["template"]["metadata"]["labels"]
    served.run("rollout", "pause", "deployment/tiny")
    patch_spec(served, "tiny", {"engine": {"maxModelLen": 512}})

    def rolls() -> bool:
        spec = served.json("get", "deployment", "tiny")["spec"]
        other = spec["template"]["metadata"]["labels"] != before
        pods = served.items("pods", "arriero.dev/model=tiny")
        return (
            not spec.get("paused")
            and other
            and any(one["metadata"]["labels"]["arriero.dev/revision"] != before["arriero.dev/revision"] for one in pods)
        )

    eventually(rolls, 15)
