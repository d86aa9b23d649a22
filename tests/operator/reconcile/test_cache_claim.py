"""The claim that is made for a model's cache: it is the model's own, and holds nothing up."""

from typing import Any

import pytest

from arriero_api.spec.cache import ClaimTemplate
from arriero_operator.planning.rollouts import claims_of
from arriero_operator.render import names
from arriero_operator.render.claim import cache_claim
from arriero_operator.render.owner import Owner
from arriero_operator.render.template import pod_template
from tests.operator.reconcile.models import model, patch_spec, until
from tests.operator.reconcile.pods import Pods
from tests.operator.reconcile.test_render_fields import inputs
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl

OWNER = Owner("team", "tiny", "uid-1")
NOWHERE = {"size": "10Gi", "storageClassName": "nowhere"}


def claim(**fields: Any) -> dict[str, Any]:
    """The claim of a template of 10Gi with these fields."""
    return cache_claim(OWNER, ClaimTemplate.model_validate({"size": "10Gi"} | fields))


def test_a_claim_belongs_to_its_model_and_blocks_no_deletion() -> None:
    (reference,) = claim()["metadata"]["ownerReferences"]
    assert reference["uid"] == "uid-1"
    assert "blockOwnerDeletion" not in reference
    assert "finalizers" not in claim()["metadata"]


def test_a_claim_says_what_the_template_says_and_leaves_the_class_to_the_cluster() -> None:
    assert claim()["spec"] == {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}
    full = claim(accessModes=["ReadWriteMany"], storageClassName="fast", size=5)["spec"]
    assert full == {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "5"}},
        "storageClassName": "fast",
    }


def test_pods_mount_the_claim_and_a_rollout_knows_of_it() -> None:
    made = pod_template("tiny", inputs(cache={"claimTemplate": {"size": "10Gi"}}))
    assert claims_of(made) == [claim()["metadata"]["name"]] == [names.cache_claim("tiny")]


@pytest.mark.control_plane
def test_a_model_whose_claim_never_binds_says_so_and_goes_with_its_claim_and_pods(served: Kubectl) -> None:
    served.apply(model("tiny", cache={"claimTemplate": NOWHERE}))
    found = until(served, "tiny", "Scheduled", "False", "VolumeMountFailed", timeout=30)
    assert "PersistentVolumeClaim" in found["message"]
    assert served.json("get", "pvc", "tiny-cache")["spec"]["storageClassName"] == "nowhere"
    served.run("delete", "im", "tiny", "--timeout=10s")

    def gone() -> bool:
        Pods(served, "tiny").remove_deleted()
        return not (served.exists("pvc", "tiny-cache") or served.items("pods", "arriero.dev/model=tiny"))

    eventually(gone, 30)


@pytest.mark.control_plane
def test_a_claim_that_cannot_grow_is_told_in_the_words_of_the_api_server(served: Kubectl) -> None:
    served.apply(model("tiny", cache={"claimTemplate": NOWHERE}))
    eventually(lambda: served.exists("pvc", "tiny-cache"))
    patch_spec(served, "tiny", {"cache": {"claimTemplate": {"size": "20Gi"}}})
    found = until(served, "tiny", "Ready", "False", "ChildRefused")
    assert "PersistentVolumeClaim tiny-cache" in found["message"]
    served.run("scale", "im/tiny", "--replicas=0")
    eventually(lambda: served.json("get", "deployment", "tiny")["spec"]["replicas"] == 0)


@pytest.mark.control_plane
def test_a_claim_that_is_not_asked_for_any_more_stays_until_the_model_goes(served: Kubectl) -> None:
    served.apply(model("tiny", cache={"claimTemplate": NOWHERE}))
    eventually(lambda: served.exists("pvc", "tiny-cache"))
    uid = served.json("get", "pvc", "tiny-cache")["metadata"]["uid"]
    patch_spec(served, "tiny", {"cache": {"claimTemplate": None, "emptyDir": {}}})
    pods = Pods(served, "tiny")
    eventually(lambda: [pod for pod in pods.live() if "emptyDir" in _cache(pod)], 20)
    assert served.json("get", "pvc", "tiny-cache")["metadata"]["uid"] == uid


def _cache(pod: dict[str, Any]) -> dict[str, Any]:
    (found,) = [volume for volume in pod["spec"]["volumes"] if volume["name"] == "cache"]
    return dict(found)
