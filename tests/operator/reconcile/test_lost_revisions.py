"""ControllerRevisions that somebody deletes: they come back from the Deployment, and no pod is replaced for it."""

import json
from typing import Any, cast

import pytest

from arriero_api import labels
from arriero_api.types import Spec
from arriero_operator.applying.apply import Applier
from arriero_operator.applying.lost_revisions import LostRevisions
from arriero_operator.cache.store import Cache
from arriero_operator.kube.protocol import Kube
from arriero_operator.render.owner import Owner
from arriero_operator.rounds.observed import Observed
from tests.conftest import MakeOperator
from tests.operator.reconcile.models import model, patch_spec, until
from tests.operator.reconcile.pods import Pods
from tests.operator.reconcile.test_control_plane import serve
from tests.operator.reconcile.test_held import WRONG
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object
from tests.support.operator import operator_settings

TUNED = ("-m", "tests.support.tuned_operator")
OTHERWISE = json.dumps({"revisions.records.VERSION": "99.0", "render.template._USER": 1234})
SPEC = Spec.model_validate({"model": {"uri": "hf://org/tiny"}})
REPORT = {"references": "Report", "images": "Report"}


def record(kubectl: Kubectl) -> Object:
    """The model's only ControllerRevision."""
    return kubectl.only("controllerrevision", "arriero.dev/model=tiny")


def told(found: Object) -> tuple[str, Object, str]:
    """What is to be the same of one that has come back."""
    metadata = found["metadata"]
    return metadata["name"], found["data"]["template"], metadata["annotations"]["arriero.dev/inputs"]


@pytest.mark.control_plane
def test_the_revision_of_a_refused_model_comes_back_and_the_model_is_kept_right(served: Kubectl) -> None:
    pods = serve(served)
    before, template = record(served), served.json("get", "deployment", "tiny")["spec"]["template"]
    (pod,) = pods.live()
    patch_spec(served, "tiny", WRONG)
    until(served, "tiny", "Accepted", "False", "EngineFlagOwned")
    served.run("delete", "controllerrevision", before["metadata"]["name"])
    eventually(lambda: record(served)["metadata"]["uid"] != before["metadata"]["uid"], 5)
    assert told(record(served)) == told(before)
    served.run("delete", "service", "tiny")
    eventually(lambda: served.exists("service", "tiny"), 5)
    served.run("scale", "im/tiny", "--replicas=2")
    pods.placed(2)
    assert served.json("get", "deployment", "tiny")["spec"]["template"] == template
    assert pod["metadata"]["uid"] in {one["metadata"]["uid"] for one in pods.live()}


@pytest.mark.control_plane
def test_a_revision_that_would_be_rendered_otherwise_now_comes_back_as_it_was(
    kubectl: Kubectl, operator: MakeOperator, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = operator(changes=REPORT)
    kubectl.apply(model("tiny", podTemplate={"spec": {"volumes": [{"name": "more", "emptyDir": {}}]}}))
    pods = Pods(kubectl, "tiny")
    (pod,) = pods.placed()
    pods.ready(pod)
    until(kubectl, "tiny", "Ready", "True", "Ready")
    before = record(kubectl)
    first.stop()
    kubectl.run("delete", "controllerrevision", before["metadata"]["name"])
    profiles = operator_settings(kubectl.namespace)["profiles"]
    profiles["nvidia"]["sharedMemory"] = "3Gi"
    monkeypatch.setenv("TUNED", OTHERWISE)
    operator(program=TUNED, identity="operator-1", changes=REPORT, profiles=profiles)
    until(kubectl, "tiny", "UpToDate", "False", "InputsChanged", timeout=20)
    assert told(record(kubectl)) == told(before)
    assert [one["metadata"]["uid"] for one in pods.live()] == [pod["metadata"]["uid"]]


async def test_a_record_deleted_right_after_a_rollout_has_begun_comes_back_as_it_was_seen_before() -> None:
    owner = Owner("team", "tiny", "uid-1", "default")

    def record_of(revision: str) -> Object:
        metadata = {
            "name": f"tiny-{revision}",
            "namespace": "team",
            "labels": {labels.REVISION: revision},
            "annotations": {},
            "ownerReferences": [owner.reference()],
        }
        return {"metadata": metadata, "revision": 1, "data": {"template": {"spec": {}}}}

    class World:
        """FAKE cache and applier."""

        def __init__(self) -> None:
            self.records: tuple[Object, ...] = (record_of("old"), record_of("new"))
            self.at = "old"
            self.stored: list[str] = []

        def get(self, *_: Any) -> Object:
            template = {"metadata": {"labels": {labels.REVISION: self.at}}}
            return {"metadata": {"ownerReferences": [owner.reference()]}, "spec": {"template": template}}

        def children(self, *_: Any) -> tuple[Object, ...]:
            return self.records

        async def ensure(self, *args: Any) -> None:
            self.stored.append(args[2][0].intent["metadata"]["name"])

    def seen(wanted: str) -> Observed:
        model = {"status": {"model": {"serving": "old", "lastGood": "old", "wanted": wanted}}}
        return Observed(("team", "tiny"), model, SPEC, owner, "tiny", ())

    world = World()
    lost = LostRevisions(cast(Kube, None), cast(Cache, world), cast(Applier, world))
    await lost.regain(seen("old"))
    assert world.stored == []
    world.at, world.records = "new", (record_of("new"),)
    await lost.regain(seen("new"))
    assert world.stored == ["tiny-old"]
