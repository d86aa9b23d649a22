"""What takes pods down that serve is decided by pods as they are, also where their watch has fallen silent."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from arriero_api import labels
from arriero_operator.cache.kube import CachedKube
from arriero_operator.cache.store import Cache
from arriero_operator.decide.plan import Plan
from arriero_operator.decide.rollout import SURGE
from arriero_operator.kube.protocol import DEPLOYMENTS, PODS, Kind
from arriero_operator.observing.live_pods import LivePods
from arriero_operator.observing.observe import pods_of
from arriero_operator.observing.pod_events import PodEvents
from arriero_operator.observing.runtime_status import RuntimeStatuses
from arriero_operator.planning.holds import hold
from arriero_operator.planning.rollouts import Rollouts
from arriero_operator.pods.facts import timestamp
from arriero_operator.revisions.records import Revision
from arriero_operator.rounds.round import Round
from tests.operator.faults.conftest import SMALL, MakeBehind, behind, way
from tests.operator.faults.test_api_server import Watches
from tests.operator.machinery.objects import make
from tests.operator.reconcile.machines import GPU, machine
from tests.operator.reconcile.made import NEW, OLD, START, ready
from tests.operator.reconcile.models import patch_spec, until
from tests.operator.reconcile.test_curiosity import KEY, NAMES, a_round
from tests.operator.reconcile.test_rollout import COULD_FIT
from tests.operator.reconcile.test_runtime_status import FakeRuntimes
from tests.operator.reconcile.test_turnover import NEXT, finish, held, serve, strategy
from tests.support.eventually import eventually
from tests.support.kubectl import Kubectl, Object
from tests.support.operator import operator_settings
from tests.support.proxy import Proxy

__all__ = ["behind", "way"]

REPLACE = {"maxSurge": 0, "maxUnavailable": 1}


def pod(name: str, revision: str, version: int, **state: Any) -> Object:
    """A pod's JSON; `node`, `ready`, `phase` and `waits` say how far it has come."""
    found = make(PODS, name, version, stem="tiny")
    found["metadata"]["labels"] |= {labels.REVISION: revision}
    found["metadata"]["creationTimestamp"] = timestamp(START)
    requests = {"requests": {GPU: "1"}}
    found["spec"] = {"nodeName": state.get("node", ""), "containers": [{"name": "runtime", "resources": requests}]}
    placed = {"type": "PodScheduled", "status": "True" if state.get("node") else "False"}
    if not state.get("node"):
        placed |= {"reason": "Unschedulable", "message": COULD_FIT}
    words = {"type": "Ready", "status": str(state.get("ready", False)), "lastTransitionTime": timestamp(START)}
    found["status"] = {"phase": state.get("phase", "Pending"), "conditions": [placed, words]}
    return found


OLD_POD = pod("a", OLD, 2, node="n", ready=True, phase="Running")


class Server:
    """The pods as they are; lists are counted."""

    def __init__(self, *found: Object) -> None:
        self.found = list(found)
        self.lists = 0

    async def list(
        self, kind: Kind, namespace: str | None, labels: str = "", metadata_only: bool = False
    ) -> list[Object]:
        assert (kind, namespace, labels) == (PODS, KEY[0], "arriero.dev/model=tiny")
        self.lists += 1
        return self.found


class World:
    """What the cache has of pods, and what is there."""

    def __init__(self, cached: list[Object], found: list[Object], rolling: Object) -> None:
        self.cache, self.server = Cache(), Server(*found)
        self.statuses, self.heard = RuntimeStatuses(FakeRuntimes().fetch), PodEvents(None)  # type: ignore[arg-type]
        for one in cached:
            self.cache.put(PODS, one)
        deployment = make(DEPLOYMENTS, "tiny", 1, stem="tiny")
        deployment["spec"] = {"replicas": 1, "strategy": {"rollingUpdate": rolling}}
        deployment["metadata"]["generation"] = 1
        self.cache.put(DEPLOYMENTS, deployment)
        kube = CachedKube(self.server, self.cache)  # type: ignore[arg-type]
        self.live = LivePods(kube, self.cache, self.statuses, self.heard)
        self.rollouts = Rollouts(self.cache, no_claims, self.live)

    def round(self, after: float) -> Round:
        """A round that long after the pods were made, with a good revision to go back to."""
        now = a_round(ready(), after)
        new, old = (
            Revision(one, {"spec": {"containers": []}}, {"metadata": {"annotations": {}}}) for one in (NEW, OLD)
        )
        now.plan = Plan(NAMES, revision=new, good=old)
        now.observed.model["status"] = {"model": {"lastGood": OLD, "wanted": NEW}}
        pods = pods_of(self.cache, self.statuses, self.heard, KEY)
        object.__setattr__(now.observed, "pods", pods)
        now.deployed = 1
        return now


async def no_claims(namespace: str, name: str) -> tuple[str, ...] | None:
    """There is none."""
    return None


UNPLACED = pod("b", NEW, 3)
LATER: dict[str, tuple[list[Object], Mapping[str, Any], int]] = {
    "has its place by now": ([OLD_POD, pod("b", NEW, 4, node="m")], SURGE, 1),
    "has none still": ([OLD_POD, UNPLACED], REPLACE, 1),
    "is gone": ([OLD_POD], SURGE, 1),
}


@pytest.mark.parametrize(("found", "rolling", "lists"), LATER.values(), ids=LATER)
async def test_the_old_pod_stays_where_the_one_that_waited(
    found: list[Object], rolling: Mapping[str, Any], lists: int
) -> None:
    world = World([OLD_POD, UNPLACED], found, dict(SURGE))
    now = world.round(31)
    await world.rollouts.decide(now, now.moment)
    assert (now.method.rolling, world.server.lists) == (rolling, lists)
    assert len(now.observed.pods) == len(found)


async def test_what_was_decided_before_costs_no_look_nor_does_what_takes_nothing_down() -> None:
    world = World([OLD_POD, UNPLACED], [OLD_POD, UNPLACED], REPLACE)
    now = world.round(31)
    assert not await world.rollouts.decide(now, now.moment)
    now = World([OLD_POD, UNPLACED], [], dict(SURGE)).round(10)
    assert not await world.rollouts.decide(now, now.moment)
    assert world.server.lists == 0


@pytest.mark.parametrize("there", [True, False], ids=["serves by now", "does not serve"])
async def test_a_revision_is_given_up_for_want_of_progress_only_where_its_pod(there: bool) -> None:
    starting = pod("b", NEW, 3, node="m")
    found = pod("b", NEW, 4, node="m", ready=True, phase="Running") if there else starting
    world = World([OLD_POD, starting], [OLD_POD, found], dict(SURGE))
    now = world.round(timedelta(hours=1).total_seconds())
    assert await world.rollouts.decide(now, now.moment)
    assert (now.plan.rejection is None) is there
    assert world.server.lists == 1


@pytest.mark.parametrize("there", [True, False], ids=["runs by now", "does not run"])
async def test_fewer_pods_are_asked_for_only_where_none_that_is_taken_down(there: bool) -> None:
    failed = [pod(name, NEW, 2, node="n", phase="Failed") for name in ("x", "y", "z")]
    starting = pod("b", NEW, 3, node="m")
    found = pod("b", NEW, 4, node="m", ready=True, phase="Running") if there else starting
    world = World([*failed, starting], [*failed, found], dict(SURGE))
    now = world.round(20)
    await hold(now, world.live)
    assert (now.hold is None) is there
    assert world.server.lists == 1


def blocker(kubectl: Kubectl, node: str) -> None:
    """A pod that has one accelerator of the node."""
    resources = {"limits": {GPU: "1"}}
    spec = {
        "containers": [{"name": "c", "image": "i", "resources": resources}],
        "nodeSelector": {"kubernetes.io/hostname": node},
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "blocker"}, "spec": spec}
    kubectl.run("create", "-f", "-", stdin=json.dumps(pod))
    eventually(lambda: kubectl.json("get", "pod", "blocker")["spec"].get("nodeName"))


@pytest.mark.control_plane
def test_a_pod_that_has_found_room_unseen_keeps_the_serving_one(
    behind: MakeBehind, way: Proxy, kubectl: Kubectl
) -> None:
    watches, wait = Watches("pods"), 8
    with machine(kubectl, 2) as node, way.fault(watches.fault):
        profiles = operator_settings(kubectl.namespace)["profiles"]
        profiles["nvidia"] |= {"nodeSelector": {"kubernetes.io/hostname": node}, "resources": SMALL}
        behind(profiles=profiles)
        blocker(kubectl, node)
        pods = serve(kubectl, surgeWaitSeconds=wait)
        patch_spec(kubectl, "tiny", NEXT)
        until(kubectl, "tiny", "Ready", "False", "SurgeWaiting")
        watches.mode = "deaf"
        kubectl.run("delete", "pod", "blocker", "--grace-period=0", "--force")
        pods.placed(2)
        held(pods, wait + 2)
        assert strategy(kubectl) == SURGE
        watches.mode = ""
        finish(kubectl, pods)
