"""When a new revision is given up: the decisions, without a cluster."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from arriero_api import labels
from arriero_api.contract import Failure, Phase
from arriero_api.types import Rollout, Spec
from arriero_operator.configuration.settings import Profile
from arriero_operator.decide.rollback import overdue, verdict
from arriero_operator.decide.rollout import SETTLED
from arriero_operator.decide.turnover import Turnover
from arriero_operator.diagnose.failures import failure
from arriero_operator.pods.facts import PodFacts
from arriero_operator.render.inputs import Inputs, pod_inputs
from arriero_operator.render.owner import Owner
from arriero_operator.revisions.records import Rejection, stillborn, wanted
from tests.operator.reconcile.made import KILLED, NEW, NOT_FOUND, OLD, START, chosen, loading, pod, ready, running
from tests.operator.reconcile.test_rollout import deployment, old, quota, unplaced

NO_ROOM = failure("AcceleratorsUnavailable", "Insufficient nvidia.com/gpu")
REPLACING = deployment({labels.REPLACING: f"{NEW}.1.1"})
HOUR = 3600


def decide(pods: list[PodFacts], found: Failure | None, after: float = 60, replicas: int = 1, **facts: Any) -> str:
    """The reason for which the revision is given up `after` seconds after its pods were made; empty: it is not."""
    moment = START + timedelta(seconds=after)
    made = facts.pop("made", deployment())
    why = verdict(Turnover(NEW, replicas, Rollout(), pods, made, moment, good=OLD, **facts), found)
    return why.reason if why else ""


def later(seconds: float) -> Any:
    """A moment after the pods were made."""
    return START + timedelta(seconds=seconds)


GIVEN_UP: dict[str, tuple[list[PodFacts], Failure | None, dict[str, Any], str]] = {
    "a failure that no retry mends": ([old(), running("b")], NOT_FOUND, {}, "ModelNotFound"),
    "a failure that is tried again, at once": ([old(), running("b")], KILLED, {}, ""),
    "a failure that is tried again, for too long": ([old(), running("b")], KILLED, {"after": HOUR}, "OOMKilled"),
    "no failure, but no progress": ([old(), running("b")], None, {"after": HOUR}, "NoProgress"),
    "no failure, but no progress that it tells of": (
        [old(), running("b", status=loading(Phase.LOADING))],
        None,
        {"after": HOUR - 60},
        "NoProgress",
    ),
    "no word from a pod that may load": ([old(), running("b")], None, {"after": HOUR - 60}, ""),
    "no word from a pod that starts again and again": (
        [old(), running("b", restarts=9)],
        None,
        {"after": HOUR - 60},
        "NoProgress",
    ),
    "a download that goes on": ([old(), running("b", progressed=later(HOUR - 60))], None, {"after": HOUR}, ""),
    "a pod that was placed late": ([old(), pod("b", scheduled_at=later(HOUR - 60))], None, {"after": HOUR}, ""),
    "a container that starts again and again": (
        [old(), running("b", progressed=later(HOUR - 5), running_since=later(HOUR - 9), restarts=9)],
        KILLED,
        {"after": HOUR},
        "OOMKilled",
    ),
    "a wait for a pod that stops": ([old(deleting=True), unplaced()], NO_ROOM, {"after": HOUR}, ""),
    "a wait for a pod that never stops": (
        [old(deleting=True, ends=later(30)), unplaced()],
        NO_ROOM,
        {"after": HOUR},
        "AcceleratorsUnavailable",
    ),
    "no place after the old pod has left": (
        [unplaced()],
        NO_ROOM,
        {"made": REPLACING, "settled": SETTLED},
        "AcceleratorsUnavailable",
    ),
    "no place right after the old pod has left": ([unplaced()], NO_ROOM, {"made": REPLACING, "settled": 1.0}, ""),
    "no place and nobody says why, for too long": (
        [pod("b", scheduled=False, scheduling_reason="SchedulingGated")],
        None,
        {"made": REPLACING, "settled": SETTLED, "after": HOUR},
        "NoProgress",
    ),
    "no place before an old pod has left": ([old(), unplaced()], NO_ROOM, {"made": REPLACING, "settled": SETTLED}, ""),
    "no place for a second one": (
        [ready("b"), unplaced(name="c")],
        NO_ROOM,
        {"made": REPLACING, "settled": SETTLED, "replicas": 2, "after": HOUR},
        "",
    ),
    "a quota that stays full": (
        [old()],
        failure("QuotaExceeded", "exceeded quota"),
        {"made": deployment(conditions=[quota()]), "after": HOUR},
        "QuotaExceeded",
    ),
    "a quota that was full for the revision before": (
        [old()],
        failure("QuotaExceeded", "exceeded quota"),
        {"made": deployment(conditions=[quota()], revision=OLD), "after": HOUR},
        "",
    ),
    "a quota that was full for long when the revision began": (
        [old()],
        failure("QuotaExceeded", "exceeded quota"),
        {"made": deployment(conditions=[quota()]), "begun": later(HOUR - 60), "after": HOUR},
        "",
    ),
    "no pod yet and nobody knows why": ([old()], None, {"after": HOUR}, ""),
    "a revision that is complete": (
        [ready("b")],
        NOT_FOUND,
        {"made": deployment(replicas=1, updatedReplicas=1)},
        "",
    ),
    "a pod that an admission check refuses for a moment": ([old()], failure("ChildRefused", "webhook"), {}, ""),
}


@pytest.mark.parametrize(("pods", "found", "facts", "reason"), GIVEN_UP.values(), ids=GIVEN_UP)
def test_giving_a_revision_up_after(
    pods: list[PodFacts], found: Failure | None, facts: dict[str, Any], reason: str
) -> None:
    assert decide(pods, found, **facts) == reason


def test_where_nothing_can_be_gone_back_to_the_limit_that_passed_is_told_with_its_field() -> None:
    loads = [running("b", status=loading(Phase.LOADING))]
    made = Turnover(NEW, 1, Rollout(), loads, deployment(), START + timedelta(seconds=HOUR))
    found = overdue(made)
    assert found is not None
    assert (found.reason, found.message) == ("NoProgress", "no progress for 1800 s")
    assert "spec.rollout.progressDeadlineSeconds" in found.remedy
    assert overdue(replace(made, moment=START + timedelta(seconds=1799))) is None
    assert overdue(replace(made, rollout=Rollout(progress_deadline_seconds=7200))) is None
    further = running("b", status=loading(Phase.LOADING), progressed=later(HOUR - 60))
    assert overdue(replace(made, pods=[further])) is None


def test_that_a_runtime_never_answered_is_told_of_a_revision_that_is_given_up() -> None:
    at = START + timedelta(seconds=HOUR)
    why = verdict(Turnover(NEW, 1, Rollout(), [old(), running("b")], deployment(), at, good=OLD), None)
    assert why is not None
    assert why.message.startswith("no progress for 3600 s; its runtime never answered")


def test_no_secret_of_others_is_kept_with_a_revision_that_is_given_up() -> None:
    words = "denied: see https://me:geheim@host/x?sig=abc, token=abcdef"
    kept = Rejection(failure("ChildRefused", words), "1").to_json()
    assert "denied" in kept
    assert not any(secret in kept for secret in ("geheim", "sig=", "abcdef"))


def inputs(image: str, own: str = "") -> Inputs:
    """Of a model whose profile has `image`, and whose spec has its `own`."""
    spec = {"model": {"uri": "hf://org/tiny"}} | ({"image": own} if own else {})
    return pod_inputs(Spec.model_validate(spec), Profile(name="nvidia", image=image))


MADE = inputs("runtime:1")
ANEW: dict[str, tuple[list[PodFacts], tuple[str, ...], Inputs, bool]] = {
    "another image, and no pod ever served": ([running("b", MADE.hash)], (OLD,), inputs("runtime:2"), True),
    "another image, and no pod": ([old()], (OLD,), inputs("runtime:2"), True),
    "the same image": ([running("b", MADE.hash)], (OLD,), MADE, False),
    "the spec's own image": ([], (OLD,), inputs("runtime:2", own="mine:1"), False),
    "another image, but it serves": ([], (MADE.hash, OLD), inputs("runtime:2"), False),
    "another image, but one pod is ready": ([ready("b", MADE.hash)], (OLD,), inputs("runtime:2"), False),
    "another image, but one pod was ready": (
        [running("b", MADE.hash, ready_changed=later(5))],
        (OLD,),
        inputs("runtime:2"),
        False,
    ),
}


@pytest.mark.parametrize(("pods", "served", "now", "anew"), ANEW.values(), ids=ANEW)
def test_a_revision_is_rendered_anew_with(
    pods: list[PodFacts], served: tuple[str, ...], now: Inputs, anew: bool
) -> None:
    owner = Owner("default", "tiny", "uid")
    made = (MADE, inputs("runtime:1", own="mine:1"))
    stored = [wanted(owner, chosen(one), []).record for one in made]
    found = stillborn(now, stored, pods, served)
    assert found == (stored[0] if anew else None)
