"""How pods of an older revision are replaced: surge first, unless nothing is served that could be lost."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from arriero_operator.diagnose.model import pod_failure
from arriero_operator.facts import PodFacts

SURGE: Final[Mapping[str, Any]] = {"maxSurge": 1, "maxUnavailable": 0}
REPLACE: Final[Mapping[str, Any]] = {"maxSurge": 1, "maxUnavailable": "100%"}


def replacement(pods: Iterable[PodFacts], wanted: str) -> Mapping[str, Any]:
    """The Deployment's rollingUpdate for the revision `wanted`.

    Pods of an older revision of which none serves go at once: nobody loses anything, and they may hold the accelerators
    that the new ones need.
    """
    live = [pod for pod in pods if pod.live]
    useless = any(pod.revision != wanted for pod in live) and not any(_serves(pod) for pod in live)
    return REPLACE if useless else SURGE


def _serves(pod: PodFacts) -> bool:
    """Ready, or not ready for a moment only: it has served since its start, and nothing is known to be wrong."""
    return pod.ready or (pod.was_ready_since_start and pod_failure(pod) is None)
