"""What a spec asks for: the revision, the names, or the reason why it cannot be acted on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from arriero_api import labels, pod
from arriero_api.contract import Failure, NameKind, Registration
from arriero_api.types import Spec
from arriero_operator import revisions
from arriero_operator.decide import acceptance, claims
from arriero_operator.decide.claims import Loss
from arriero_operator.diagnose.failures import failure
from arriero_operator.render.children import Owner
from arriero_operator.render.inputs import Inputs, pod_inputs
from arriero_operator.revisions import Rejection, Revision
from arriero_operator.settings import Settings


@dataclass(frozen=True, slots=True)
class Plan:
    """Either `refused`, or `inputs` and `revision` are set. `lost` are withheld names with the model that has them.

    `profile` is the name of the one in force, empty for one that the chart does not have. `good` is the last good
    revision where that is another than the wanted one, and `rejection` why the wanted one was given up for it.
    """

    names: tuple[Registration, ...]
    lost: Mapping[str, Loss] = field(default_factory=dict)
    refused: Failure | None = None
    inputs: Inputs | None = None
    revision: Revision | None = None
    profile: str = ""
    good: Revision | None = None
    rejection: Rejection | None = None

    @property
    def applied(self) -> Revision | None:
        """The revision that pods are to be of."""
        return self.good if self.rejection is not None else self.revision

    @property
    def outdated(self) -> str:
        """Which image pods run instead of the profile's, in words; empty where it is that one, or the spec's own."""
        if self.inputs is None or self.applied is None or self.inputs.image:
            return ""
        used = {one["name"]: one["image"] for one in self.applied.template["spec"]["containers"]}[pod.CONTAINER]
        wanted = self.inputs.default_image
        return "" if used == wanted else f"pods run {used}, the profile {self.profile!r} has {wanted}"

    def rejecting(self, why: Rejection) -> "Plan":
        """The same with the wanted revision given up for the last good one, which there must be."""
        assert self.revision is not None
        assert self.good is not None
        return replace(self, revision=revisions.rejected(self.revision, why), rejection=why)

    @property
    def served(self) -> tuple[Registration, ...]:
        """The names that the pods are to serve."""
        return tuple(one for one in self.names if one.name not in self.lost)


def plan(
    owner: Owner,
    model: Mapping[str, Any],
    spec: Spec,
    settings: Settings,
    neighbours: Iterable[Mapping[str, Any]],
    stored: Iterable[Mapping[str, Any]],
    operator: str,
) -> Plan:
    """The plan for `model`, whose typed spec is `spec`.

    `neighbours` are the InferenceModels of the namespace, `stored` the model's ControllerRevisions, `operator` the
    version that renders a new revision.
    """
    names = claims.wanted_names(owner.name, spec)
    lost = lost_names(model, neighbours)
    refused = acceptance.refusal(spec, settings) or _nameless(names, lost)
    profile = acceptance.profile_of(spec, settings)
    if refused is not None or profile is None:
        return Plan(names, lost, refused, profile=profile.name if profile else "")
    inputs = pod_inputs(spec, profile, settings.hub_endpoint)
    stored = list(stored)
    revision = revisions.wanted(owner, inputs, stored, operator)
    found = Plan(names, lost, None, inputs, revision, profile.name, _last_good(model, stored, inputs.hash))
    rejection = revisions.rejection_of(stored, inputs.hash)
    if rejection is None or found.good is None or not spec.rollout.rollback or rejection.retry != retry_of(model):
        return found
    return found.rejecting(rejection)


def retry_of(model: Mapping[str, Any]) -> str:
    """The user's word that a revision that was given up is to be tried again, when it changes."""
    return str((model["metadata"].get("annotations") or {}).get(labels.RETRY, ""))


def lost_names(model: Mapping[str, Any], neighbours: Iterable[Mapping[str, Any]]) -> dict[str, Loss]:
    """Names of `model` that another model of the namespace has a better right to."""
    mine = claims.claim(model) or claims.claim({**model, "status": {}})
    others = [one for one in neighbours if one["metadata"]["uid"] != model["metadata"]["uid"]]
    claimed = [found for other in others if (found := claims.claim(other)) is not None]
    return claims.conflicts(mine, claimed) if mine is not None else {}


def _last_good(model: Mapping[str, Any], stored: Iterable[Mapping[str, Any]], wanted: str) -> Revision | None:
    good = str(((model.get("status") or {}).get("model") or {}).get("lastGood") or "")
    return revisions.stored_revision(stored, good) if good and good != wanted else None


def _nameless(names: Iterable[Registration], lost: Mapping[str, Loss]) -> Failure | None:
    """A model of which every name is another's has nothing to serve."""
    names = [one for one in names if one.kind is not NameKind.ADAPTER]
    if any(one.name not in lost for one in names):
        return None
    said = "No name is left. " + " ".join(lost[one.name].words(one.name) for one in names)
    passing = all(lost[one.name].passing for one in names)
    return failure("NameHandover" if passing else "NameConflict", said)
