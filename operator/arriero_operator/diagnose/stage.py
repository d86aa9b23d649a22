"""How far a start has come, of the pod that is furthest behind."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from arriero_api.contract import Phase
from arriero_operator.pods.facts import PodFacts

SCHEDULING: Final = "Scheduling"
STARTING: Final = "StartingContainer"
DRAINING: Final = "Draining"

_ORDER: Final = (SCHEDULING, STARTING, "Resolving", "Downloading", "Loading", "Warming")
_PHASES: Final = {
    Phase.EMPTY: STARTING,
    Phase.RESOLVING: "Resolving",
    Phase.DOWNLOADING: "Downloading",
    Phase.LOADING: "Loading",
    Phase.WARMING: "Warming",
    Phase.READY: "Warming",
    Phase.DRAINING: STARTING,
    Phase.FAILED: STARTING,
}
_WORDS: Final = {
    SCHEDULING: "waiting for a node",
    STARTING: "pulling the image, mounting volumes or starting the container",
    "Resolving": "looking up the model",
    "Downloading": "fetching the model",
    "Loading": "loading the model",
    "Warming": "waiting for the first answer",
}
_PROMISED: Final = "waiting for the node that it has been promised"


@dataclass(frozen=True, slots=True)
class Stage:
    """A step of the start: `phase` is a reason of the catalogue, `percent` 0 to 100 or None."""

    phase: str
    percent: int | None
    message: str


def stage(pods: Sequence[PodFacts], wanted: str) -> Stage:
    """The step at which the revision `wanted` is; that of a start where it has no pod yet."""
    behind = [of_pod(pod) for pod in pods if pod.revision == wanted and pod.live and not pod.ready]
    if not behind:
        return Stage(SCHEDULING, None, "waiting for the pod")
    return min(behind, key=lambda one: (_ORDER.index(one.phase), one.percent or 0))


def of_pod(pod: PodFacts) -> Stage:
    """The step at which a pod is that is not ready."""
    if not pod.scheduled:
        promised = pod.nominated or pod.told.node_coming
        return Stage(SCHEDULING, None, _PROMISED if promised else _WORDS[SCHEDULING])
    if pod.running_since is None or pod.status is None:
        return Stage(STARTING, None, _WORDS[STARTING])
    phase = _PHASES[pod.status.phase]
    percent = pod.status.progress.percent
    bounded = None if percent is None else max(0, min(100, percent))
    return Stage(phase, bounded, pod.status.progress.message or _WORDS[phase])
