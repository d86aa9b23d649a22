"""A spec that cannot be acted on: what was accepted last is kept right meanwhile."""

import json

import pytest

from arriero_api.contract import NameKind, Registration, Registrations
from arriero_operator.decide import registered
from arriero_operator.decide.claims import Loss
from tests.operator.reconcile.models import model, patch_spec, read, until
from tests.operator.reconcile.test_control_plane import serve
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object

WRONG = {"engine": {"args": ["--port=1"]}}
"""Refused: the operator writes that flag itself."""
HF = {"uri": "hf://org/tiny"}


def named(name: str, kind: str = "Model", state: str = "Registered") -> Object:
    """An entry of status.names."""
    return {"name": name, "kind": kind, "state": state, "pods": 1}


MAIN, CHAT = Registration("main", NameKind.MODEL), Registration("chat", NameKind.ALIAS)
ADAPTER = Registration("fr", NameKind.ADAPTER, "hf://org/fr", "", "commit")
NEXT = Registration("next", NameKind.MODEL)
KEPT: dict[str, tuple[tuple[Registration, ...], tuple[Registration, ...], list[Object], tuple[Registration, ...]]] = {
    "what the files have": ((NEXT,), (MAIN, CHAT), [named("main"), named("chat", "Alias")], (MAIN, CHAT)),
    "an adapter as the file has it, with its commit": (
        (MAIN, Registration("fr", NameKind.ADAPTER, "hf://org/other")),
        (MAIN, ADAPTER),
        [named("main"), named("fr", "Adapter", "Failed")],
        (MAIN, ADAPTER),
    ),
    "a name of a file that was lost": ((NEXT,), (), [named("main")], (MAIN,)),
    "an adapter of a file that was lost as the spec has it": (
        (NEXT, ADAPTER),
        (),
        [named("main"), named("fr", "Adapter")],
        (MAIN, ADAPTER),
    ),
    "no adapter that nobody knows": ((NEXT,), (), [named("main"), named("fr", "Adapter")], (MAIN,)),
    "none that leaves": ((NEXT,), (MAIN, CHAT), [named("main"), named("chat", "Alias", "Unregistering")], (MAIN,)),
    "none that was withheld": ((MAIN, CHAT), (MAIN,), [named("main"), named("chat", "Alias", "Conflict")], (MAIN,)),
    "what the spec asks for where the status was lost": ((MAIN, CHAT), (), [], (MAIN,)),
    "none that another model has by now": (
        (MAIN, CHAT),
        (MAIN, CHAT),
        [named("main"), named("chat", "Alias")],
        (MAIN,),
    ),
}


@pytest.mark.parametrize(("asked", "stored", "before", "wanted"), KEPT.values(), ids=KEPT)
def test_names_that_are_kept_are(
    asked: tuple[Registration, ...],
    stored: tuple[Registration, ...],
    before: list[Object],
    wanted: tuple[Registration, ...],
) -> None:
    lost = {"chat": Loss("other")} if asked == (MAIN, CHAT) else {}
    assert registered.kept(asked, lost, stored, before) == wanted


def names(kubectl: Kubectl) -> dict[str, str]:
    """States of status.names by name."""
    return {one["name"]: one["state"] for one in read(kubectl, "tiny")["status"]["names"]}


def file(kubectl: Kubectl) -> list[str]:
    """The names that the pods' only file has."""
    found = kubectl.only("configmap", "arriero.dev/model=tiny")
    return [one.name for one in Registrations.from_json(found["data"]["registrations.json"]).names]


@pytest.mark.control_plane
def test_a_model_whose_change_is_refused_is_scaled_and_its_children_come_back(served: Kubectl) -> None:
    pods = serve(served, model={**HF, "aliases": ["chat"]}, service={"port": 8000})
    before = {kind: served.json("get", kind, "tiny")["spec"] for kind in ("service", "deployment")}
    (revision,) = {one["metadata"]["name"] for one in served.items("controllerrevision", "arriero.dev/model=tiny")}
    patch_spec(served, "tiny", {**WRONG, "model": {**HF, "name": "other"}, "service": {"name": "other", "port": 1234}})
    until(served, "tiny", "Accepted", "False", "EngineFlagOwned")
    until(served, "tiny", "Stalled", "True", "EngineFlagOwned")
    served.run("delete", "service", "tiny")
    eventually(lambda: served.exists("service", "tiny"), 5)
    found = served.json("get", "service", "tiny")["spec"]
    assert (found["ports"], found["selector"]) == (before["service"]["ports"], before["service"]["selector"])
    assert not served.exists("service", "other")
    served.run("delete", "configmap", "-l", "arriero.dev/model=tiny")
    eventually(lambda: file(served) == ["tiny", "chat"], 5)
    assert names(served) == {"tiny": "Registered", "chat": "Registered"}
    served.run("delete", "deployment", "tiny", "--cascade=orphan")
    eventually(lambda: served.exists("deployment", "tiny"), 5)
    assert served.json("get", "deployment", "tiny")["spec"] == before["deployment"]
    assert names(served) == {"tiny": "Registered", "chat": "Registered"}, "pods that stay count meanwhile"
    served.run("scale", "im/tiny", "--replicas=2")
    for pod in pods.placed(2):
        pods.ready(pod)
    eventually(lambda: read(served, "tiny")["status"]["readyReplicas"] == 2)
    assert served.exists("pdb", "tiny")
    served.run("scale", "im/tiny", "--replicas=1")
    eventually(lambda: len(pods.live()) == 1)
    until(served, "tiny", "Available", "True")
    until(served, "tiny", "Ready", "False", "EngineFlagOwned")
    assert read(served, "tiny")["status"]["url"] == f"http://tiny.{served.namespace}.svc:8000"
    assert [one["metadata"]["name"] for one in served.items("controllerrevision", "arriero.dev/model=tiny")] == [
        revision
    ]


@pytest.mark.control_plane
def test_a_name_leaves_and_failed_pods_are_removed_while_a_change_is_refused(served: Kubectl) -> None:
    pods = serve(served, model={**HF, "aliases": ["chat"]})
    (serving,) = pods.live()
    patch_spec(served, "tiny", {"model": {"aliases": None}})
    eventually(lambda: names(served)["chat"] == "Unregistering")
    patch_spec(served, "tiny", WRONG)
    until(served, "tiny", "Accepted", "False", "EngineFlagOwned")
    assert names(served) == {"tiny": "Registered", "chat": "Unregistering"}
    failed = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **{key: serving["metadata"][key] for key in ("labels", "annotations", "ownerReferences")},
            "name": "tiny-evicted",
        },
        "spec": {"containers": [{"name": "runtime", "image": "i"}], "nodeName": serving["spec"]["nodeName"]},
    }
    served.run("create", "-f", "-", stdin=json.dumps(failed))
    evicted = {"status": {"phase": "Failed", "reason": "Evicted", "message": "low on resource: memory"}}
    served.run("patch", "pod", "tiny-evicted", "--subresource=status", "--type=merge", "-p", json.dumps(evicted))
    eventually(lambda: "deletionTimestamp" in served.json("get", "pod", "tiny-evicted")["metadata"])
    eventually(lambda: file(served) == ["tiny"], 20)
    assert pods.live()[0]["metadata"]["uid"] == serving["metadata"]["uid"]


@pytest.mark.control_plane
def test_replicas_that_a_claim_does_not_allow_are_not_made_and_those_that_serve_stay(served: Kubectl) -> None:
    pods = serve(served, replicas=2)
    patch_spec(served, "tiny", {"replicas": 3, "cache": {"claimTemplate": {"size": "1Gi"}}})
    until(served, "tiny", "Accepted", "False", "ClaimNotShareable")
    served.run("delete", "service", "tiny")
    eventually(lambda: served.exists("service", "tiny"), 5)
    assert served.json("get", "deployment", "tiny")["spec"]["replicas"] == 2
    assert not served.exists("pvc", "tiny-cache")
    assert len(pods.live()) == 2
    patch_spec(served, "tiny", {"cache": None})
    pods.placed(3)


@pytest.mark.control_plane
def test_pods_that_the_api_server_refuses_take_no_scaling_from_those_that_serve(served: Kubectl) -> None:
    pods = serve(served)
    patch_spec(served, "tiny", {"resources": {"limits": {"memory": "4Gi"}, "requests": {"memory": "8Gi"}}})
    until(served, "tiny", "Accepted", "False", "ChildRefused")
    served.run("scale", "im/tiny", "--replicas=2")
    pods.placed(2)
    patch_spec(served, "tiny", {"replicas": 1, "resources": None})
    until(served, "tiny", "Accepted", "True")
    eventually(lambda: len(pods.live()) == 1)


@pytest.mark.control_plane
def test_a_first_spec_that_is_refused_makes_nothing(served: Kubectl) -> None:
    served.apply(model("tiny", **WRONG))
    until(served, "tiny", "Accepted", "False", "EngineFlagOwned")
    assert not served.items("services,deployments,configmaps,controllerrevisions", "arriero.dev/model=tiny")
