"""Pods that nodes end one after the other: made more rarely, removed, and given up."""

import json
from datetime import timedelta

import pytest

from arriero_api.types import Rollout
from arriero_operator.decide import rollback
from arriero_operator.decide.failed import KEPT, hold, surplus
from arriero_operator.decide.turnover import Turnover
from arriero_operator.diagnose.failures import failure
from arriero_operator.pods.facts import PodFacts
from tests.conftest import MakeOperator
from tests.operator.reconcile.made import NEW, OLD, START, pod, ready, running
from tests.operator.reconcile.models import events, model, read, until
from tests.operator.reconcile.pods import Pods
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object, condition


def evicted(number: int, revision: str = NEW) -> PodFacts:
    """The pod that a node ended so many seconds after the first."""
    made = START + timedelta(seconds=number)
    return pod(f"evicted-{number}", revision, phase="Failed", phase_reason="Evicted", created=made)


HOLDS = {
    "none has failed": ([pod("b")], 0, None),
    "one has failed": ([evicted(0), pod("b")], 0, None),
    "two have failed": ([evicted(0), evicted(1), pod("b")], 2, 0),
    "two have failed a while ago": ([evicted(0), evicted(1), pod("b")], 12, None),
    "many have failed": ([*(evicted(n) for n in range(9)), pod("b")], 299, 0),
    "many have failed and one starts": ([*(evicted(n) for n in range(9)), running("b")], 20, None),
    "many have failed and one pulls its image": ([*(evicted(n) for n in range(9)), pod("b", sandboxed=True)], 20, None),
    "they are being replaced": ([evicted(0), evicted(1), ready("a", OLD), pod("b")], 2, None),
    "they are of another revision": ([evicted(0, OLD), evicted(1, OLD), pod("b")], 2, None),
}


@pytest.mark.parametrize(("pods", "after", "replicas"), HOLDS.values(), ids=HOLDS)
def test_the_next_pod_is_put_off_when(pods: list[PodFacts], after: int, replicas: int | None) -> None:
    found = hold(pods, NEW, 1, START + timedelta(seconds=after))
    assert (found.replicas if found else None) == replicas


def test_pods_that_serve_are_not_taken_down_for_those_that_fail() -> None:
    found = hold([evicted(0), evicted(1), ready("a"), pod("b")], NEW, 2, START + timedelta(seconds=2))
    assert found is not None
    assert found.replicas == 1


def test_failed_pods_are_kept_to_be_counted_until_all_wanted_ones_are_ready() -> None:
    loop = [evicted(n) for n in range(KEPT + 2)]
    assert {one.name for one in surplus([*loop, pod("b")], NEW, 1)} == {"evicted-0", "evicted-1"}
    assert surplus([*loop, ready("b")], NEW, 1) == loop
    assert surplus([evicted(0, OLD), pod("b")], NEW, 1) == [evicted(0, OLD)]


def test_a_new_revision_that_nodes_end_again_and_again_is_given_up_though_each_pod_is_new() -> None:
    why = failure("Evicted", "low on memory")
    now = START + timedelta(seconds=4)
    for count, given_up in ((2, False), (3, True)):
        pods = [ready("a", OLD), *(evicted(n) for n in range(count)), pod("b", created=now)]
        turnover = Turnover(NEW, 1, Rollout(), pods, None, now, good=OLD)
        assert (rollback.verdict(turnover, why) is not None) == given_up


def fail(kubectl: Kubectl, found: Object) -> None:
    """The node evicts the pod."""
    status = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}
    patch = ("--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
    kubectl.run("patch", "pod", found["metadata"]["name"], *patch)


@pytest.mark.control_plane
def test_evicted_pods_are_told_of_made_more_rarely_and_removed_when_one_serves(
    kubectl: Kubectl, operator: MakeOperator
) -> None:
    operator()
    kubectl.apply(model("tiny"))
    pods = Pods(kubectl, "tiny")

    def alive() -> list[Object]:
        return [one for one in pods.live() if one.get("status", {}).get("phase") != "Failed"]

    for _ in range(2):
        fail(kubectl, eventually(alive)[0])
    found = until(kubectl, "tiny", "Ready", "False", "Evicted")
    assert "low on resource: memory" in found["message"]
    eventually(lambda: "the next pod is made at" in condition(read(kubectl, "tiny"), "Ready")["message"])
    eventually(lambda: not alive())
    (last,) = eventually(alive, 20)
    eventually(lambda: kubectl.json("get", "pod", last["metadata"]["name"])["spec"].get("nodeName"))
    pods.ready(last)
    until(kubectl, "tiny", "Ready", "True", "Ready")

    def alone() -> bool:
        pods.remove_deleted()
        return [one["metadata"]["name"] for one in pods.all()] == [last["metadata"]["name"]]

    eventually(alone)
    assert len(events(kubectl, "tiny", "Evicted")) == 1
