"""Which runtimes are asked for their status and how often, and when a model is looked at again without being told.

At rest nobody is asked and nothing is looked at again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from arriero_operator.decide.plan import Plan
from arriero_operator.decide.situation import Situation
from arriero_operator.facts import PodFacts
from arriero_operator.observe import Observed
from arriero_operator.runtime_status import PATIENCE, RuntimeStatuses

PROOF: Final = 0.2
"""Seconds between looks while a changed list of names is on its way."""
START: Final = 1.0
"""Seconds between looks while a pod starts."""
FAILED: Final = 10.0
"""Seconds between looks at a runtime that has said why it does not serve."""


@dataclass(slots=True)
class Questions:
    """Pods to ask, with how old their last answer may be (seconds)."""

    pods: dict[str, tuple[PodFacts, float]] = field(default_factory=dict)

    def by_interval(self) -> Iterator[tuple[float, list[PodFacts]]]:
        """The pods, by interval."""
        for interval in sorted({interval for _, interval in self.pods.values()}):
            yield interval, [pod for pod, other in self.pods.values() if other == interval]

    @property
    def soonest(self) -> float | None:
        """When the next of them is due."""
        return min((interval for _, interval in self.pods.values()), default=None)


def questions(observed: Observed, plan: Plan, proven: set[str], statuses: RuntimeStatuses) -> Questions:
    """Whom to ask: pods that start, pods that have not proven their names, pods that have never told their commit."""
    found = Questions()
    at_rest = _is_ready(observed)
    for pod in observed.pods:
        if not pod.live or not pod.ip or pod.running_since is None:
            continue
        if not pod.ready:
            said = pod.status is not None and pod.status.failure is not None
            found.pods[pod.uid] = (pod, FAILED if said else START)
        elif plan.revision is not None and pod.uid not in proven:
            found.pods[pod.uid] = (pod, PROOF)
        elif not at_rest and pod.status is None and statuses.silent(observed.key, pod) < PATIENCE:
            found.pods[pod.uid] = (pod, START)
    return found


def requeue_after(observed: Observed, proven: set[str], asked: Questions, situation: Situation) -> float | None:
    """Seconds until the next look; None at rest, where the next change tells."""
    unproven = any(pod.ready and pod.uid not in proven for pod in observed.pods)
    if unproven and situation.refused is None:
        return PROOF
    return asked.soonest


def _is_ready(observed: Observed) -> bool:
    conditions: Sequence[dict[str, str]] = observed.before.get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
