"""What the API server would not do for a model is told in its resource, and what does not need it goes on."""

from typing import Any

import pytest

from arriero_operator.applying import obstacles
from arriero_operator.applying.obstacles import PATIENCE, Hesitation, Obstacles
from arriero_operator.applying.problems import ChildProblem
from arriero_operator.diagnose.failures import failure
from arriero_operator.kube.errors import Forbidden, Unavailable
from tests.operator.faults.conftest import MakeBehind, serve
from tests.operator.reconcile.models import model, patch_spec, read, until
from tests.support.eventually import eventually
from tests.support.faults import Reply, Seen, always, status
from tests.support.kubectl import Kubectl, Object, condition
from tests.support.proxy import Proxy

WEBHOOK = 'failed calling webhook "pods.policy.example": Post "https://policy.example.svc": context deadline exceeded'
DENIED = 'admission webhook "objects.policy.example" denied the request: ask the platform team'
FAILS = status(500, "InternalError", f"Internal error occurred: {WEBHOOK}")
FORBIDS = status(403, "Forbidden", DENIED)
THROTTLES = status(429, "TooManyRequests", "too many requests, please try again later", Retry_After="6")
RULES: Object = {
    "enabled": True,
    "clients": [],
    "operator": [],
    "monitoring": [],
    "egress": {"dns": [], "sources": [], "sourcePorts": [443]},
}
KEY = ("team", "tiny")


def writes(*resources: str) -> Any:
    """Requests that change an object of these kinds."""
    return lambda seen: seen.write and seen.resource in resources and not seen.subresource


def said(ready: str, generation: int = 1) -> Object:
    """A resource of the first generation with a status of that one."""
    conditions = [{"type": "Ready", "status": ready}]
    return {
        "metadata": {"generation": 1},
        "status": {"observedGeneration": generation, "conditions": conditions},
    }


def test_failed_requests_of_a_ready_model_are_told_once_they_last_and_others_at_once() -> None:
    seconds = 0.0
    found = Hesitation(lambda: seconds)
    assert found.tells(KEY, {"metadata": {"generation": 1}})
    assert found.tells(KEY, said("False"))
    assert found.tells(KEY, said("True", generation=0))
    assert not found.tells(KEY, said("True"))
    seconds = PATIENCE
    assert found.tells(KEY, said("True"))
    found.passed(KEY)
    assert not found.tells(KEY, said("True"))


def test_of_several_obstacles_the_first_is_told_and_the_spec_goes_first() -> None:
    found = Obstacles()
    found.note(ChildProblem(failure("ChildDenied", "a policy"), 30.0))
    found.note(Unavailable("away", 503))
    found.note(ChildProblem(failure("ChildNameTaken", "taken"), 10.0))
    found.note(ChildProblem(failure("ChildRefused", "wrong")))
    assert found.error is not None
    outcome = found.outcome(None)
    assert outcome.hindered is not None and outcome.hindered.message == "a policy"
    assert outcome.refused is not None and outcome.refused.reason == "ChildNameTaken"
    assert outcome.retry_after == 10.0
    mine = failure("ProfileUnknown", "x")
    assert found.outcome(mine).refused is mine
    assert obstacles.words(Forbidden("no right", 403)).reason == "ChildDenied"
    assert obstacles.words(Unavailable("away", 503)).reason == "ApiServerFailed"


@pytest.mark.control_plane
@pytest.mark.parametrize(
    ("answer", "reason", "words"),
    [
        pytest.param(FAILS, "ApiServerFailed", WEBHOOK, id="a webhook that does not answer"),
        pytest.param(THROTTLES, "ApiServerFailed", "too many requests", id="throttled", marks=pytest.mark.full),
        pytest.param(FORBIDS, "ChildDenied", DENIED, id="a policy", marks=pytest.mark.full),
    ],
)
def test_a_deployment_that_the_api_server_does_not_make_is_told_and_made_once_it_does(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl, answer: Reply, reason: str, words: str
) -> None:
    behind()
    with way.fault(always(writes("deployments"), answer)):
        kubectl.apply(model("tiny"))
        found = until(kubectl, "tiny", "Ready", "False", reason, timeout=15)
        assert words.lower() in found["message"].lower()
        until(kubectl, "tiny", "Reconciling", "True", reason)
        until(kubectl, "tiny", "Scheduled", "False", reason)
        until(kubectl, "tiny", "Accepted", "True")
        assert kubectl.exists("service", "tiny")
    until(kubectl, "tiny", "Ready", "True", "Ready", timeout=45)


@pytest.mark.control_plane
def test_pods_that_may_not_be_told_of_a_name_are_named_and_scaled_all_the_same(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl
) -> None:
    behind()
    serve(kubectl)
    with way.fault(always(writes("pods"), FORBIDS)):
        patch_spec(kubectl, "tiny", {"model": {"aliases": ["chat"]}, "replicas": 2})
        found = until(kubectl, "tiny", "Ready", "False", "ChildDenied", timeout=15)
        assert DENIED.lower() in found["message"].lower()
        eventually(lambda: read(kubectl, "tiny")["status"]["readyReplicas"] == 2)
        until(kubectl, "tiny", "Available", "True")
    # No runtime answers here for the name: that is what is waited for next.
    until(kubectl, "tiny", "Ready", "False", "Registering", timeout=30)


@pytest.mark.control_plane
@pytest.mark.full
def test_a_revision_that_cannot_be_recorded_replaces_no_pod_and_those_that_serve_are_scaled(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl
) -> None:
    behind()
    serve(kubectl)
    template = kubectl.json("get", "deployment", "tiny")["spec"]["template"]
    with way.fault(always(writes("controllerrevisions"), FAILS)):
        patch_spec(kubectl, "tiny", {"engine": {"maxModelLen": 512}, "replicas": 2})
        until(kubectl, "tiny", "Ready", "False", "ApiServerFailed", timeout=20)
        eventually(lambda: read(kubectl, "tiny")["status"]["readyReplicas"] == 2)
        assert kubectl.json("get", "deployment", "tiny")["spec"]["template"] == template
    until(kubectl, "tiny", "Ready", "True", "Ready", timeout=60)
    assert kubectl.json("get", "deployment", "tiny")["spec"]["template"] != template


@pytest.mark.control_plane
def test_a_budget_that_is_denied_is_told_and_stops_neither_pods_nor_rollouts(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl
) -> None:
    behind()
    with way.fault(always(writes("poddisruptionbudgets"), FORBIDS)):
        kubectl.apply(model("tiny", replicas=2))
        eventually(lambda: read(kubectl, "tiny").get("status", {}).get("readyReplicas") == 2, 20)
        found = until(kubectl, "tiny", "Ready", "False", "ChildDenied")
        assert f"PodDisruptionBudget tiny: {DENIED}" in found["message"]
        assert not condition(read(kubectl, "tiny"), "Stalled"), "it is tried again"
        wanted = read(kubectl, "tiny")["status"]["model"]["wanted"]
        patch_spec(kubectl, "tiny", {"engine": {"maxModelLen": 512}})
        eventually(lambda: read(kubectl, "tiny")["status"]["model"]["serving"] != wanted, 40)
        eventually(lambda: read(kubectl, "tiny")["status"]["updatedReplicas"] == 2, 40)
    kubectl.run("annotate", "im", "tiny", "seen=once")  # it is looked at anew before the half minute is over
    until(kubectl, "tiny", "Ready", "True", "Ready", timeout=40)


@pytest.mark.control_plane
def test_pods_wait_for_their_first_network_policy_and_those_that_are_there_are_scaled_without(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl
) -> None:
    behind(networkPolicies=RULES)
    denied = always(writes("networkpolicies"), FORBIDS)
    with way.fault(denied):
        kubectl.apply(model("tiny"))
        until(kubectl, "tiny", "Ready", "False", "ChildDenied", timeout=15)
        assert not kubectl.items("deployments")
    kubectl.run("scale", "im/tiny", "--replicas=2")
    until(kubectl, "tiny", "Ready", "True", "Ready", timeout=40)
    with way.fault(denied):
        kubectl.run("delete", "networkpolicy", "tiny")
        until(kubectl, "tiny", "Ready", "False", "ChildDenied")
        kubectl.run("scale", "im/tiny", "--replicas=1")
        eventually(lambda: kubectl.json("get", "deployment", "tiny")["spec"]["replicas"] == 1)


@pytest.mark.control_plane
def test_what_cannot_be_looked_up_is_told_and_what_was_accepted_before_is_kept_right(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl
) -> None:
    behind()
    serve(kubectl)

    def unread(seen: Seen) -> Reply | None:
        named = seen.method == "GET" and seen.resource == "persistentvolumeclaims"
        return FORBIDS if named and not seen.watch and seen.name == "models" else None

    with way.fault(unread):
        patch_spec(kubectl, "tiny", {"cache": {"persistentVolumeClaim": {"claimName": "models"}}})
        found = until(kubectl, "tiny", "Ready", "False", "ChildDenied", timeout=15)
        assert DENIED.lower() in found["message"].lower()
        kubectl.run("delete", "service", "tiny")
        eventually(lambda: kubectl.exists("service", "tiny"))
        kubectl.run("scale", "im/tiny", "--replicas=2")
        eventually(lambda: read(kubectl, "tiny")["status"]["readyReplicas"] == 2)
    until(kubectl, "tiny", "Ready", "False", "ReferenceMissing", timeout=30)
