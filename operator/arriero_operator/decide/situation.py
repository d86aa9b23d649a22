"""All that the conditions are decided from."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from arriero_api.contract import Failure
from arriero_operator.diagnose.stage import Stage
from arriero_operator.pods.facts import PodFacts


@dataclass(frozen=True, slots=True)
class NameState:
    """One name of status.names; `pods` counts the ready pods that serve it.

    `until`: pods accept a name that leaves up to this time (Kubernetes time), empty: for no longer than it takes.
    `passing`: the model that has a withheld name is giving it up. `reason` is why it has failed.
    """

    name: str
    kind: str
    state: str
    pods: int = 0
    message: str = ""
    reason: str = ""
    until: str = ""
    passing: bool = False


@dataclass(frozen=True, slots=True)
class Situation:
    """A model as it is wanted and as it is.

    `wanted` is the revision that the spec asks for, empty when the spec is refused before it is known; `applied` the
    one that pods are to be of: another where the wanted one was given up, and `rolled_back` says why. `refused` says
    why the spec is not acted on, `failure` why fewer pods of the applied revision than wanted are ready, `hindered`
    what the API server would not do for now. `mismatch`: pods of another commit. `turnover` is a reason that tells how
    pods are being replaced, and its message; empty: nothing to tell. `outdated` tells of another image than the
    profile's, `stale` of another profile or other contents than pods were made of, `missing` of what they were made of
    and is not there any more.
    """

    generation: int
    replicas: int
    wanted: str
    applied: str
    stage: Stage
    pods: Sequence[PodFacts] = ()
    names: Sequence[NameState] = ()
    refused: Failure | None = None
    failure: Failure | None = None
    hindered: Failure | None = None
    rolled_back: Failure | None = None
    mismatch: str = ""
    turnover: tuple[str, str] = ("", "")
    paused: bool = False
    outdated: str = ""
    stale: str = ""
    missing: str = ""
    live: Sequence[PodFacts] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "live", tuple(pod for pod in self.pods if pod.live))

    @property
    def ready(self) -> int:
        """Pods that answer, of whatever revision."""
        return sum(pod.ready for pod in self.live)

    @property
    def updated(self) -> int:
        """Pods of the wanted revision."""
        return sum(pod.revision == self.wanted for pod in self.live)

    @property
    def ready_updated(self) -> int:
        """Pods of the wanted revision that answer."""
        return sum(pod.ready and pod.revision == self.wanted for pod in self.live)

    @property
    def ready_applied(self) -> int:
        """Pods that answer, of the revision that pods are to be of."""
        return sum(pod.ready and pod.revision == self.applied for pod in self.live)

    @property
    def old(self) -> int:
        """Pods of another revision than the wanted one."""
        return len(self.live) - self.updated

    @property
    def unplaced(self) -> int:
        """Pods that have no node, counting those that do not exist yet."""
        return sum(not pod.scheduled for pod in self.live) + max(0, self.replicas - len(self.live))

    @property
    def draining(self) -> int:
        """Pods that are being deleted."""
        return sum(pod.deleting for pod in self.pods)
