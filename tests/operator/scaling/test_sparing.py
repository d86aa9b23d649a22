"""What Kubernetes is told of pods that load before fewer are asked for."""

import pytest

from arriero_api.contract import Phase
from arriero_operator.decide.sparing import costs
from arriero_operator.pods.facts import PodFacts
from tests.operator.reconcile.made import loading, pod, ready, running

FAR = running("far", status=loading(Phase.LOADING, 5))
EARLY = running("early", status=loading(Phase.DOWNLOADING, 90))
SILENT = running("silent")


def order(*pods: PodFacts, deployed: int = 3, wanted: int = 1) -> list[str]:
    """Names of the pods that were told a cost, the one that goes first in front."""
    found = costs(pods, deployed, wanted)
    return [one.name for one, _ in sorted(found, key=lambda pair: pair[1])]


def test_the_one_that_has_come_furthest_goes_last() -> None:
    assert order(FAR, SILENT, EARLY) == ["silent", "early", "far"]


def test_within_a_phase_the_percents_count() -> None:
    further = running("further", status=loading(Phase.LOADING, 80))
    assert order(further, FAR) == ["far", "further"]


def test_pods_that_serve_or_do_not_run_are_told_nothing() -> None:
    assert order(FAR, EARLY, ready("serves"), pod("placed")) == ["early", "far"]


@pytest.mark.parametrize(("deployed", "wanted"), [(3, 3), (2, 3), (3, 0)])
def test_nothing_is_told_where_no_choice_is_to_be_made(deployed: int, wanted: int) -> None:
    assert order(FAR, EARLY, deployed=deployed, wanted=wanted) == []
    assert order(FAR) == []
