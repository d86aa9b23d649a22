"""The one failure that a model is reported with, out of what its pods say."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from arriero_api.contract import Failure
from arriero_operator.diagnose import containers, nodes, scheduling
from arriero_operator.diagnose.failures import catalogued
from arriero_operator.pods.facts import PodFacts


def _runtime(pod: PodFacts) -> Failure | None:
    """The runtime runs and says itself why it does not serve."""
    return pod.status.failure if pod.status is not None and pod.running_since is not None else None


_CHAIN: Final[tuple[Callable[[PodFacts], Failure | None], ...]] = (
    scheduling.unplaced,
    nodes.silent,
    containers.waiting,
    nodes.unsandboxed,
    _runtime,
    containers.ended,
)
"""What is asked of a pod that is not ready, in this order; the first answer counts."""


def pod_failure(pod: PodFacts) -> Failure | None:
    """Why a live pod that is not ready does not serve; None when nothing is wrong yet."""
    if pod.ready or not pod.live:
        return None
    return _first(check(pod) for check in _CHAIN)


def model_failure(
    pods: Sequence[PodFacts], wanted: str, replicas: int, deployment: Mapping[str, Any] | None
) -> Failure | None:
    """Why fewer than `replicas` pods of the revision `wanted` are ready; None when they are or nothing is wrong yet.

    Only pods of that revision speak for it: the oldest live one first, then the pods that could not be made, then the
    youngest that the node has ended.
    """
    own = sorted((pod for pod in pods if pod.revision == wanted), key=lambda pod: (pod.created, pod.name))
    if sum(pod.ready for pod in own) >= replicas:
        return None
    live = [pod for pod in own if pod.live]
    found = _first(pod_failure(pod) for pod in live)
    if found is None and len(live) < replicas:
        found = scheduling.no_pod(deployment)
    if found is None:
        found = _first(nodes.ended(pod) for pod in reversed(own) if not pod.deleting)
    return catalogued(found) if found else None


def _first(found: Iterable[Failure | None]) -> Failure | None:
    return next((one for one in found if one is not None), None)
