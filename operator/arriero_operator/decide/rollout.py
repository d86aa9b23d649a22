"""How pods of an older revision are replaced: surge first, unless nothing is served that could be lost."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from arriero_operator.facts import PodFacts

SURGE: Final[Mapping[str, Any]] = {"maxSurge": 1, "maxUnavailable": 0}
REPLACE: Final[Mapping[str, Any]] = {"maxSurge": 1, "maxUnavailable": "100%"}


def replacement(pods: Iterable[PodFacts], wanted: str) -> Mapping[str, Any]:
    """The Deployment's rollingUpdate for the revision `wanted`.

    Pods of an older revision of which none is ready go at once: they serve nobody, and may hold the accelerators that
    the new ones need.
    """
    live = [pod for pod in pods if pod.live]
    failed = any(pod.revision != wanted for pod in live) and not any(pod.ready for pod in live)
    return REPLACE if failed else SURGE
