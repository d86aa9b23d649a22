"""One reconcile under way: what was observed, what is planned, what came of it."""

from dataclasses import dataclass, field
from datetime import datetime

from arriero_api.contract import Failure, Registration, Registrations
from arriero_operator.decide.failed import Hold
from arriero_operator.decide.pins import Entry
from arriero_operator.decide.plan import Plan
from arriero_operator.decide.rollout import SURGE, Method
from arriero_operator.kube.errors import KubeError
from arriero_operator.render import children
from arriero_operator.render.owner import Json, Owner
from arriero_operator.rounds.observed import Observed
from arriero_operator.work.keys import Key


@dataclass(frozen=True, slots=True)
class NamesFile:
    """The registrations that pods of one revision are to serve.

    `made` is when their ConfigMap was made, by the API server's clock; empty where it is yet to be made. `changed` is
    when they last became others since then, by the operator's clock; empty: never. Both are Kubernetes times.
    """

    revision: str
    content: Registrations
    made: str
    changed: str
    fresh: bool
    """The ConfigMap does not hold them yet."""
    before: Registrations | None = None
    """What it holds, where it is to be changed and can be read."""

    @property
    def lasting(self) -> frozenset[Entry]:
        """Adapters that the change leaves as they are."""
        held = self.before.adapters if self.before is not None else ()
        return frozenset(one.entry for one in self.content.adapters) & frozenset(one.entry for one in held)

    def intent(self, owner: Owner) -> Json:
        """The ConfigMap."""
        return children.registrations(owner, self.revision, self.content, self.changed)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of applying: why the spec is not acted on, and when to look again without being told (seconds).

    `leaving`: children of a deleted model of this name are still there. `hindered`: why something that the spec may
    ask for could not be done for now.
    """

    refused: Failure | None = None
    retry_after: float | None = None
    leaving: bool = False
    hindered: Failure | None = None


@dataclass(slots=True)
class Round:
    """One reconcile, begun at `moment`.

    `deployed` is how many replicas the Deployment has, as far as it is there. `served` are the names that pods are to
    serve; `registrations` has what each revision with pods is to serve, and the wanted one.
    """

    observed: Observed
    plan: Plan
    moment: datetime
    deployed: int = 0
    served: tuple[Registration, ...] = ()
    registrations: dict[str, NamesFile] = field(default_factory=dict)
    proven: set[str] = field(default_factory=set)
    """Uids of ready pods that are known to serve their registrations."""
    unreachable: tuple[str, ...] = ()
    """Names of ready pods that are to prove their names and have not answered for seconds."""
    method: Method = field(default_factory=lambda: Method(SURGE))
    """How pods are replaced."""
    overdue: Failure | None = None
    """That the applied revision makes no progress, where it is not given up for that."""
    hold: Hold | None = None
    """That fewer pods are asked for, because those before have failed one after the other."""
    outcome: Outcome = Outcome()
    error: KubeError | None = None
    """What the API server would not do, so that all of it is to be tried again."""

    @property
    def key(self) -> Key:
        """Of the model."""
        return self.observed.key

    @property
    def wanted(self) -> str:
        """Hash of the revision that the spec asks for; that of the last accepted spec where it is refused."""
        if self.plan.revision is not None:
            return self.plan.revision.hash
        return self.observed.wanted

    @property
    def replicas(self) -> int:
        """How many are asked for: what the spec says, but no more than there are where that is what is refused."""
        wanted = self.observed.spec.replicas
        shared = self.plan.refused is not None and self.plan.refused.reason == "ClaimNotShareable"
        return min(wanted, max(1, self.deployed)) if shared else wanted

    @property
    def applied(self) -> str:
        """Hash of the revision that pods are to be of."""
        return self.plan.applied.hash if self.plan.applied is not None else self.wanted
