"""The replacement of pods as it stands: what is decided from, and what was decided before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from arriero_api import labels
from arriero_api.numbers import whole
from arriero_api.types import Rollout
from arriero_operator.diagnose import scheduling
from arriero_operator.pods import facts
from arriero_operator.pods.facts import PodFacts

OVERDUE: Final = timedelta(seconds=60)
"""After the end of its grace, a pod that is still there is not waited for."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What is kept of the decision to replace: how many pods may be missing, how many old ones had a node then."""

    missing: int
    placed: int


@dataclass(frozen=True, slots=True)
class Turnover:
    """What the replacement of pods is decided from.

    `applied` is the revision of the Deployment's template, `replicas` how many are wanted. `exclusive` is a claim that
    one pod or node only may mount, in words. `settled` is for how many seconds no pod has been terminating. `good` is
    the revision that was last ready with all its replicas. `begun` is since when `applied` has been applied, as far as
    is known.
    """

    applied: str
    replicas: int
    rollout: Rollout
    pods: Sequence[PodFacts]
    deployment: Mapping[str, Any] | None
    moment: datetime
    settled: float = 0.0
    exclusive: str = ""
    good: str = ""
    begun: datetime | None = None
    live: Sequence[PodFacts] = field(init=False)
    new: Sequence[PodFacts] = field(init=False)
    old: Sequence[PodFacts] = field(init=False)

    def __post_init__(self) -> None:
        live = [pod for pod in self.pods if pod.live]
        object.__setattr__(self, "live", live)
        object.__setattr__(self, "new", [pod for pod in live if pod.revision == self.applied])
        object.__setattr__(self, "old", [pod for pod in live if pod.revision != self.applied])

    @property
    def status(self) -> Mapping[str, Any]:
        """The Deployment's status, empty where it speaks of an older Deployment than the one that stands."""
        found = (self.deployment or {}).get("status") or {}
        generation = (self.deployment or {}).get("metadata", {}).get("generation", 0)
        return found if found.get("observedGeneration", -1) >= generation else {}

    @property
    def annotations(self) -> Mapping[str, str]:
        """Of the Deployment."""
        return (self.deployment or {}).get("metadata", {}).get("annotations") or {}

    @property
    def terminating(self) -> bool:
        """Whether a pod is being stopped: it may hold what the new one waits for.

        Not one that should have stopped long ago: its node is lost, and nobody knows whether it ever comes back.
        """
        leaving = sum(pod.deleting for pod in self.pods)
        overdue = sum(end <= self.moment for end in self._overdue)
        return max(leaving, int(self.status.get("terminatingReplicas", 0))) > overdue

    @property
    def overdue_in(self) -> float | None:
        """Seconds until the next pod that is being stopped counts as one no longer; None where there is none."""
        waits = ((end - self.moment).total_seconds() for end in self._overdue)
        return min((wait for wait in waits if wait > 0), default=None)

    @property
    def _overdue(self) -> list[datetime]:
        return [pod.ends + OVERDUE for pod in self.pods if pod.deleting and pod.ends is not None]

    @property
    def under_way(self) -> bool:
        """Whether pods are being replaced; also by a restart, in which all are of one revision."""
        return bool(self.old) or self.status.get("updatedReplicas", 0) < self.status.get("replicas", 0)

    @property
    def placed(self) -> int:
        """Old pods that have a node."""
        return sum(pod.scheduled for pod in self.old)

    @property
    def starting(self) -> bool:
        """Whether a new pod has a node and does not serve yet."""
        return any(pod.scheduled and not pod.ready for pod in self.new)

    @property
    def made_room(self) -> bool:
        """Whether an old pod has left for the new ones since it was decided so."""
        before = kept(self)
        return before is not None and self.placed < before.placed

    @property
    def complete(self) -> bool:
        """Whether all wanted pods are new and ready."""
        return bool(self.status) and not self.under_way and sum(pod.ready for pod in self.new) >= self.replicas

    def blocked(self) -> tuple[datetime, str, bool] | None:
        """Since when a new pod waits for what an old one holds, in which words, and whether a node is promised."""
        holders = [pod for pod in self.old or self.new if pod.scheduled]
        for pod in self.new:
            if scheduling.waits_for(pod, holders):
                return pod.created, pod.scheduling_message, bool(pod.nominated) or pod.told.node_coming
        quota = scheduling.quota_refusal(self.deployment)
        if quota is not None and len(self.live) <= self.replicas:
            return self.since(quota) or self.moment, str(quota.get("message", "")), False
        return None

    def since(self, refusal: Mapping[str, Any]) -> datetime | None:
        """Since when pods of this revision have been refused, by the Deployment's condition; None where none was yet.

        The condition's time may be that of an earlier revision's pods.
        """
        template = (self.deployment or {}).get("spec", {}).get("template") or {}
        moment = facts.time(refusal.get("lastTransitionTime"))
        if moment is None or (template.get("metadata", {}).get("labels") or {}).get(labels.REVISION) != self.applied:
            return None
        return max(moment, self.begun or moment)


def kept(t: Turnover) -> Choice | None:
    """What was decided before for this rollout; None where nothing was."""
    revision, missing, placed = [*t.annotations.get(labels.REPLACING, "").split("."), "", ""][:3]
    fewer, had = whole(missing), whole(placed)
    if revision != t.applied or fewer is None or had is None:
        return None
    return Choice(fewer, had)
