"""Which pod stays when fewer are wanted while some still load: the one that has come furthest.

Kubernetes takes pods that are not ready before those that serve. Among the former it knows no difference but their age;
a deletion cost tells it one. So an autoscaler that changes its mind never makes a model begin its load anew.
"""

from collections.abc import Sequence
from typing import Final

from arriero_api.contract import Phase
from arriero_operator.pods.facts import PodFacts

COST: Final = "controller.kubernetes.io/pod-deletion-cost"
"""Annotation of a pod, known to Kubernetes: of pods that are alike otherwise, the one of the least goes first."""

_STEPS: Final = {
    Phase.RESOLVING: 1,
    Phase.DOWNLOADING: 2,
    Phase.LOADING: 3,
    Phase.WARMING: 4,
    Phase.READY: 5,
}
_STEP: Final = 101
"""More than the percents within a step."""


def costs(pods: Sequence[PodFacts], deployed: int, wanted: int) -> list[tuple[PodFacts, int]]:
    """The cost of each pod that loads, where fewer than `deployed` pods are `wanted` and two or more load."""
    loading = [pod for pod in pods if pod.live and not pod.ready and pod.running_since is not None]
    if not 0 < wanted < deployed or len(loading) < 2:
        return []
    return [(pod, _come(pod)) for pod in loading]


def _come(pod: PodFacts) -> int:
    """How far the pod's start has come, as a number that grows."""
    if pod.status is None:
        return 0
    return _STEPS.get(pod.status.phase, 0) * _STEP + (pod.status.progress.percent or 0)
