"""How pods of an older revision are replaced: the decisions, without a cluster."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from arriero_api import labels
from arriero_api.types import Rollout
from arriero_operator.decide.rollout import AT_ONCE, SETTLED, SURGE, Method, method
from arriero_operator.decide.turnover import Turnover
from arriero_operator.pods.facts import PodFacts, Told
from tests.operator.reconcile.made import NEW, OLD, START, pod, ready, running, seen
from tests.support.kubectl import Object

GPU = {"cpu": Decimal(2), "nvidia.com/gpu": Decimal(1)}
TWO = {"nvidia.com/gpu": Decimal(2)}
COULD_FIT = (
    "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) didn't match Pod's node affinity/selector. "
    "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful."
)
FITS_NOWHERE = (
    "0/2 nodes are available: 2 Insufficient nvidia.com/gpu. "
    "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
)
NO_PREEMPTION = (
    "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: not eligible due to preemptionPolicy=Never."
)
ONE_POD_VOLUME = (
    "0/1 nodes are available: 1 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod "
    "access mode. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
)
REPLACE = {"maxSurge": 0, "maxUnavailable": 1}


def old(name: str = "a", **facts: Any) -> PodFacts:
    """A serving pod of the older revision that has an accelerator."""
    return ready(name, OLD, **{"holds": GPU} | facts)


def unplaced(words: str = COULD_FIT, name: str = "b", **facts: Any) -> PodFacts:
    """A pod of the wanted revision for which the scheduler has found no node."""
    placed = {"scheduled": False, "scheduling_reason": "Unschedulable", "scheduling_message": words}
    return pod(name, NEW, **placed | facts)


def deployment(annotations: dict[str, str] | None = None, revision: str = NEW, **status: Any) -> Object:
    """The Deployment, with a template of `revision` and a status that speaks of it."""
    return {
        "metadata": {"generation": 2, "annotations": annotations or {}},
        "spec": {"template": {"metadata": {"labels": {labels.REVISION: revision}}}},
        "status": {"observedGeneration": 2} | status,
    }


def decide(pods: list[PodFacts], after: float = 31, replicas: int = 1, **facts: Any) -> Method:
    """The method `after` seconds after the new pods were made."""
    rollout = Rollout(**facts.pop("rollout", {}))
    moment = START + timedelta(seconds=after)
    return method(Turnover(NEW, replicas, rollout, pods, facts.pop("made", deployment()), moment, **facts))


def quota(requested: str = "1", used: str = "1") -> Object:
    """The Deployment's condition of a pod that a quota of one accelerator has refused."""
    gpus = "requests.nvidia.com/gpu"
    words = f"exceeded quota: q, requested: {gpus}={requested}, used: {gpus}={used}, limited: {gpus}=1"
    since = "2026-01-01T12:00:00Z"
    return {"type": "ReplicaFailure", "status": "True", "message": words, "lastTransitionTime": since}


def test_old_pods_are_surged_over_unless_none_of_them_serves() -> None:
    assert decide([old(), pod("b")]).rolling == SURGE
    assert decide([pod("a", OLD), pod("b")]).rolling == AT_ONCE
    assert decide([pod("a", OLD), ready("b")]).rolling == SURGE
    assert decide([pod("b")]).rolling == SURGE
    assert decide([]).rolling == SURGE
    busy = running("a", OLD, ready_changed=START + timedelta(minutes=5))
    assert decide([busy, pod("b")]).rolling == SURGE


FLIPS = {
    "an accelerator that an old pod holds": ([old(), unplaced()], {}, True),
    "no more than the old pod has, where it may not preempt": ([old(), unplaced(NO_PREEMPTION, holds=GPU)], {}, True),
    "more than the old pod has, where it may not preempt": ([old(), unplaced(NO_PREEMPTION, holds=TWO)], {}, False),
    "a volume that one pod may mount": ([old(holds={}), unplaced(ONE_POD_VOLUME)], {}, True),
    "a quota": ([old()], {"made": deployment(conditions=[quota()])}, True),
    "a quota that has refused pods of the older revision": (
        [old()],
        {"made": deployment(conditions=[quota()], revision=OLD)},
        False,
    ),
    "a quota that refused the older one for long and this one for a moment": (
        [old()],
        {"made": deployment(conditions=[quota()]), "begun": START + timedelta(seconds=25)},
        False,
    ),
    "a quota that the new pod exceeds by itself": ([old()], {"made": deployment(conditions=[quota("4")])}, False),
    "accelerators that no node has": ([old(), unplaced(FITS_NOWHERE)], {}, False),
    "an accelerator where the old pod has none": ([old(holds={"cpu": Decimal(2)}), unplaced()], {}, False),
    "a pod that the scheduler has not seen yet": ([old(), pod("b", scheduled=False)], {}, False),
    "an accelerator of a pod that is being stopped": ([old(), unplaced(), old("c", deleting=True)], {}, False),
    "one that Kubernetes alone knows to be stopped": (
        [old(), unplaced()],
        {"made": deployment(terminatingReplicas=1)},
        False,
    ),
    "an accelerator of a pod that should have stopped within the last minute": (
        [old(), unplaced(), old("c", deleting=True, ends=START + timedelta(seconds=1))],
        {"made": deployment(terminatingReplicas=1), "after": 60},
        False,
    ),
    "an accelerator beside a pod that never stops": (
        [old(), unplaced(), old("c", deleting=True, ends=START + timedelta(seconds=1))],
        {"made": deployment(terminatingReplicas=1), "after": 61},
        True,
    ),
    "an accelerator beside one that never stops and one that does": (
        [old(), unplaced(), old("c", deleting=True, ends=START + timedelta(seconds=1))],
        {"made": deployment(terminatingReplicas=2), "after": 61},
        False,
    ),
    "an accelerator for too short a time": ([old(), unplaced()], {"after": 29}, False),
    "a node that an autoscaler brings": ([old(), unplaced(nominated="new-node")], {}, False),
    "a node that an autoscaler does not bring": ([old(), unplaced(nominated="new-node")], {"after": 901}, True),
    "an accelerator where the user wants to surge": ([old(), unplaced()], {"rollout": {"strategy": "Surge"}}, False),
    "nothing, where the user wants to replace": ([old()], {"rollout": {"strategy": "Replace"}}, True),
    "a claim that one node may mount": ([old()], {"exclusive": "one node only may mount it"}, True),
    "a restart, which makes no revision": (
        [ready("a", holds=GPU), unplaced()],
        {"made": deployment(replicas=2, updatedReplicas=1)},
        True,
    ),
    "a restart, for which an autoscaler brings a node": (
        [ready("a", holds=GPU), unplaced(told=Told(node_coming=True))],
        {"made": deployment(replicas=2, updatedReplicas=1)},
        False,
    ),
    "a scale-up, which replaces nothing": (
        [ready("a", holds=GPU), unplaced()],
        {"made": deployment(replicas=2, updatedReplicas=2), "replicas": 2},
        False,
    ),
}


@pytest.mark.parametrize(("pods", "facts", "flips"), FLIPS.values(), ids=FLIPS)
def test_an_old_pod_is_taken_down_for_a_new_one_that_waits_for(
    pods: list[PodFacts], facts: dict[str, Any], flips: bool
) -> None:
    found = decide(pods, **facts)
    assert found.rolling == (REPLACE if flips else SURGE)
    assert (labels.REPLACING in found.annotations) == flips


def test_before_an_old_pod_is_taken_down_it_is_told_when() -> None:
    found = decide([old(), unplaced()], after=10)
    assert (found.reason, found.look_after) == ("SurgeWaiting", 20)
    assert "at 2026-01-01T12:00:30Z" in found.message
    assert "Insufficient nvidia.com/gpu" in found.message


def test_a_pod_that_is_being_stopped_is_looked_at_when_it_is_overdue() -> None:
    leaving = old("c", deleting=True, ends=START + timedelta(seconds=1))
    assert decide([old(), unplaced(), leaving], after=40).look_after == 21
    assert decide([old(), pod("b"), leaving], after=62).look_after is None


def test_when_a_pod_has_to_have_stopped_is_read_from_it() -> None:
    made = {"name": "a", "uid": "u", "creationTimestamp": "2026-01-01T12:00:00Z"}
    found = seen({"metadata": made | {"deletionTimestamp": "2026-01-01T12:00:30Z"}})
    assert (found.deleting, found.ends) == (True, START + timedelta(seconds=30))
    assert seen({"metadata": made}).ends is None


def test_the_choice_lasts_for_its_rollout_and_no_longer() -> None:
    kept = deployment({labels.REPLACING: f"{NEW}.1.1"}, replicas=1, updatedReplicas=1)
    assert decide([old(deleting=True), unplaced()], made=kept).rolling == REPLACE
    assert decide([pod("b")], made=kept).rolling == REPLACE
    assert decide([ready("b")], made=kept) == Method(SURGE)
    of_another = deployment({labels.REPLACING: f"{OLD}.1.1"})
    assert decide([old(), pod("b")], made=of_another).rolling == SURGE


def test_right_after_the_choice_the_old_status_of_the_deployment_does_not_undo_it() -> None:
    stale = deployment({labels.REPLACING: f"{NEW}.1.1"}, observedGeneration=1, replicas=1, updatedReplicas=1)
    assert decide([ready("a", holds=GPU), unplaced()], made=stale).rolling == REPLACE


def test_with_fewer_pods_than_wanted_one_more_may_be_missing() -> None:
    assert decide([old(), unplaced(), unplaced(name="c")], replicas=2).rolling["maxUnavailable"] == 2
    elsewhere = pod("z", OLD, scheduled=False)
    assert decide([old(), elsewhere, unplaced()], replicas=2).rolling["maxUnavailable"] == 2
    crashing = pod("z", OLD, holds=GPU)
    assert decide([old(), old("c"), crashing, unplaced()], replicas=3).rolling["maxUnavailable"] == 1


def test_a_scale_up_in_the_middle_of_replacing_does_not_stop_it() -> None:
    kept = deployment({labels.REPLACING: f"{NEW}.1.2"})
    half = [old(), ready("b", holds=GPU), unplaced(name="c")]
    assert decide(half, made=kept, replicas=3, settled=1.0).rolling["maxUnavailable"] == 1
    assert decide(half, made=kept, replicas=3, settled=SETTLED).rolling["maxUnavailable"] == 2
    nothing_done = [old(), old("c"), unplaced()]
    assert decide(nothing_done, made=kept, replicas=3, settled=SETTLED).rolling["maxUnavailable"] == 2


def test_no_old_pod_is_taken_down_for_a_scale_up_while_a_new_one_starts() -> None:
    grown = [old(), running("b"), unplaced(name="c"), unplaced(name="d")]
    found = decide(grown, replicas=3)
    assert (found.rolling, found.reason) == (SURGE, "SurgeWaiting")
    assert "when the one that starts is ready" in found.message
    assert decide([old(), ready("b"), unplaced(name="c")], replicas=3).rolling["maxSurge"] == 0
    restarted = deployment(replicas=2, updatedReplicas=1)
    assert decide([running("b", holds=GPU), unplaced(name="c")], made=restarted).rolling["maxSurge"] == 0
    kept = deployment({labels.REPLACING: f"{NEW}.1.2"})
    half = [old(), running("b"), unplaced(name="c")]
    assert decide(half, made=kept, replicas=3, settled=SETTLED).rolling["maxUnavailable"] == 1


def test_a_scale_down_in_the_middle_of_replacing_takes_no_more_pods_down_than_before() -> None:
    kept = deployment({labels.REPLACING: f"{NEW}.3.2"})
    pods = [old(), old("c"), unplaced()]
    assert decide(pods, made=kept, replicas=4).rolling["maxUnavailable"] == 3
    found = decide(pods, made=kept, replicas=2)
    assert found.rolling["maxUnavailable"] == 1
    assert found.annotations[labels.REPLACING] == f"{NEW}.1.2"


def test_a_scale_down_to_one_keeps_the_last_serving_pod_until_the_new_one_is_ready() -> None:
    kept = {labels.REPLACING: f"{NEW}.1.2"}
    found = decide([old(), running("b")], made=deployment(kept))
    assert (found.rolling, found.annotations) == (SURGE, kept)
    assert decide([old(), ready("b")], made=deployment(kept)).rolling == REPLACE
    assert decide([old(deleting=True), running("b")], made=deployment(kept)).rolling == REPLACE
    assert decide([old(), running("b")], made=deployment(kept), exclusive="one node only").rolling == REPLACE


def test_no_further_pod_is_taken_down_while_none_of_the_new_ones_has_found_a_place() -> None:
    kept = deployment({labels.REPLACING: f"{NEW}.1.3"})
    pods = [old(), old("c"), unplaced()]
    assert decide(pods, made=kept, replicas=3, settled=SETTLED).rolling["maxUnavailable"] == 1


def test_after_the_old_pod_of_a_full_quota_has_gone_the_deployment_is_touched_few_times() -> None:
    annotations = {labels.REPLACING: f"{NEW}.1.1"}
    seen: list[str] = []
    for second in range(120):
        made = deployment(annotations, conditions=[quota()])
        annotations = dict(decide([], after=second, made=made).annotations)
        seen.append(annotations[labels.NUDGE])
    assert seen[0] != seen[1]
    assert len(set(seen)) == 8
    waiting = decide([old(deleting=True)], made=deployment({labels.REPLACING: f"{NEW}.1.1"}, conditions=[quota()]))
    assert labels.NUDGE not in waiting.annotations
