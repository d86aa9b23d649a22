"""Which runtimes are asked, how often, and which pods prove their names by being ready."""

from datetime import datetime, timedelta

import pytest

from arriero_api.contract import NameKind, Phase, Registration, Registrations, RuntimeStatus
from arriero_api.types import Spec
from arriero_operator.decide.plan import Plan
from arriero_operator.observing.curiosity import questions
from arriero_operator.observing.runtime_status import PATIENCE, RuntimeStatuses
from arriero_operator.pods.facts import PodFacts, timestamp
from arriero_operator.reconcile.waits import requeue_after
from arriero_operator.registrations.proofs import older
from arriero_operator.render.owner import Owner
from arriero_operator.rounds.observed import Observed
from arriero_operator.rounds.round import NamesFile, Round
from tests.operator.reconcile.made import NEW, START, ready
from tests.operator.reconcile.test_runtime_status import FakeRuntimes, answers
from tests.support.kubectl import Object

KEY = ("team", "tiny")
NAMES = (Registration("tiny", NameKind.MODEL),)
READY: Object = {"conditions": [{"type": "Ready", "status": "True"}]}


def file(made: datetime | None = START, changed: datetime | None = None) -> NamesFile:
    """Registrations that were made and changed at these times."""
    began, became = (timestamp(one) if one else "" for one in (made, changed))
    return NamesFile(NEW, Registrations(NAMES), began, became, fresh=False)


def a_round(pod: PodFacts, after: float, status: Object | None = None, proven: bool = False) -> Round:
    """A look at a model of one pod, `after` seconds after its names changed."""
    model: Object = {
        "metadata": {"name": "tiny", "namespace": "team", "uid": "u", "generation": 1},
        "status": status or {},
    }
    spec = Spec.model_validate({"model": {"uri": "hf://a/b"}})
    observed = Observed(KEY, model, spec, Owner("team", "tiny", "u"), "tiny", [pod])
    now = Round(observed, Plan(NAMES), START + timedelta(seconds=after))
    now.registrations = {NEW: file(changed=START)}
    now.proven = {pod.uid} if proven else set()
    return now


@pytest.mark.parametrize(
    ("found", "seconds", "is_older"),
    [
        (file(), -1, True),
        (file(), 0, False),
        (file(), 1, False),
        (file(changed=START), 0, True),
        (file(changed=START), 29, True),
        (file(changed=START), 31, False),
        (file(made=None), 60, True),
    ],
    ids=[
        "before the file",
        "in the second of the file",
        "after the file",
        "in the second of the change",
        "after the change by another clock",
        "long after the change",
        "no file yet",
    ],
)
def test_a_pod_proves_its_names_by_being_ready_only_if_it_surely_began_with_them(
    found: NamesFile, seconds: int, is_older: bool
) -> None:
    assert older(ready(created=START + timedelta(seconds=seconds)), found) is is_older


def test_a_pod_that_never_proves_its_names_is_asked_less_and_less() -> None:
    moment, times = 0.0, []
    while moment < 3600:
        now = a_round(ready(), moment)
        (asked,) = questions(now, RuntimeStatuses(FakeRuntimes().fetch))
        wait = requeue_after(now, asked[1])
        assert wait is not None
        moment += wait
        times.append(moment)
    assert sum(moment <= 2 for moment in times) >= 9
    assert len(times) < 300
    assert times[-1] - times[-2] == pytest.approx(30)


def test_a_pod_that_has_just_become_ready_is_asked_at_once_however_old_the_names_are() -> None:
    pod = ready(ready_changed=START + timedelta(hours=1))
    assert requeue_after(a_round(pod, 3601), None) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("status", "asked"),
    [
        (RuntimeStatus(Phase.LOADING), True),
        (RuntimeStatus(Phase.READY), False),
        (None, False),
    ],
    ids=["its last word is from its start", "it has told all", "the operator has just begun"],
)
def test_of_a_ready_model_only_a_pod_is_asked_that_has_more_to_tell(status: RuntimeStatus | None, asked: bool) -> None:
    pod = ready(status=status)
    assert bool(questions(a_round(pod, 60, READY, proven=True), RuntimeStatuses(FakeRuntimes().fetch))) is asked


async def test_a_pod_that_does_not_answer_is_left_in_peace_in_the_end() -> None:
    moment = 0.0

    async def refuse(ip: str) -> RuntimeStatus:
        raise ConnectionRefusedError(ip)

    statuses = RuntimeStatuses(refuse, lambda: moment)
    now = a_round(ready(status=RuntimeStatus(Phase.LOADING)), 60, READY, proven=True)
    for _ in range(PATIENCE):
        await statuses.refresh(KEY, questions(now, statuses))
        await answers()
        moment += 60
    assert questions(now, statuses) == []


def test_the_end_of_a_names_time_is_looked_at() -> None:
    until = timestamp(START + timedelta(seconds=72))
    names = [{"name": "old", "kind": "Alias", "state": "Unregistering", "until": until}]
    assert requeue_after(a_round(ready(), 60, READY | {"names": names}, proven=True), None) == 12
    assert requeue_after(a_round(ready(), 72, READY | {"names": names}, proven=True), None) is None
