"""What a spec asks for: the revision, the names, or the reason why it cannot be acted on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from arriero_api import labels, pod
from arriero_api.contract import Failure, NameKind, Registration
from arriero_operator.decide import claims
from arriero_operator.decide.acceptance import Asked
from arriero_operator.decide.claims import Loss
from arriero_operator.diagnose.failures import failure
from arriero_operator.render.inputs import Inputs
from arriero_operator.render.owner import Owner
from arriero_operator.revisions import lineage, records
from arriero_operator.revisions.lineage import Demand, Seen
from arriero_operator.revisions.records import Rejection, Revision

_NOTHING: Final = Seen()


@dataclass(frozen=True, slots=True)
class Plan:
    """What pods are to be. `lost` are withheld names with the model that has them.

    Where the spec can be acted on, `inputs` and `revision` are set; else `refused` says why, and what was accepted last
    stands: then `held` is True, and `revision` the one that was wanted last, where there was one.

    `profile` is the name of the one in force, empty for one that the chart does not have. `good` is the last good
    revision where that is another than the wanted one, and `rejection` why the wanted one was given up for it. `stale`
    says what has changed outside that pods do not follow (`waits`: they do when it is the model's turn), `missing` what
    they were made of and is not there any more;
    `retry_after` is when to look for it again without being told (seconds).
    """

    names: tuple[Registration, ...]
    lost: Mapping[str, Loss] = field(default_factory=dict)
    refused: Failure | None = None
    inputs: Inputs | None = None
    revision: Revision | None = None
    profile: str = ""
    good: Revision | None = None
    rejection: Rejection | None = None
    stale: str = ""
    missing: str = ""
    retry_after: float | None = None
    held: bool = False
    waits: bool = False

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
        return replace(self, revision=records.rejected(self.revision, why), rejection=why)

    @property
    def served(self) -> tuple[Registration, ...]:
        """The names that the pods are to serve."""
        return tuple(one for one in self.names if one.name not in self.lost)


def plan(
    owner: Owner,
    model: Mapping[str, Any],
    asked: Asked,
    rivals: Iterable[Mapping[str, Any]],
    stored: Iterable[Mapping[str, Any]],
    seen: Seen = _NOTHING,
    rolling: bool = False,
    moved: str = "",
) -> Plan:
    """The plan for `model`, whose typed spec is in `asked`.

    `rivals` are the InferenceModels that claim one of its names, `stored` the model's ControllerRevisions, `seen`
    what was found of what the spec refers to. `rolling`: it is its turn to get the profile's image; `moved`: to follow
    the profile, which has this hash.
    """
    names = claims.wanted_names(owner.name, asked.spec)
    lost = lost_names(model, rivals)
    stored = list(stored)
    profile = asked.profile.name if asked.profile else ""
    refused = asked.refused or seen.refused or _nameless(names, lost)
    if refused is not None or asked.inputs is None:
        bare = Plan(names, lost, refused, profile=profile, retry_after=seen.retry_after)
        return holding(bare, owner, model, stored, asked.spec.rollout.rollback)
    demand = Demand(asked.spec, asked.inputs, retry_of(model), wanted_before(model), rolling, moved)
    choice = lineage.choose(demand, seen, stored, asked.settings.changes)
    missing = f"not there: {', '.join(seen.missing)}" if seen.missing else ""
    if missing and not choice.stored:
        refused = failure("ReferenceMissing", missing)
        bare = Plan(names, lost, refused, profile=profile, retry_after=seen.retry_after)
        return holding(bare, owner, model, stored, asked.spec.rollout.rollback)
    revision = records.wanted(owner, choice, stored)
    good = _last_good(model, stored, revision.hash)
    found = Plan(
        names,
        lost,
        None,
        choice.inputs,
        revision,
        profile,
        good,
        None,
        choice.stale,
        missing,
        seen.retry_after,
        waits=choice.waits,
    )
    return _gone_back(found, model, stored, asked.spec.rollout.rollback)


def holding(
    bare: Plan,
    owner: Owner,
    model: Mapping[str, Any],
    stored: Iterable[Mapping[str, Any]],
    rollback: bool,
) -> Plan:
    """`bare`, of a spec that cannot be acted on, with what was accepted last: that is kept right meanwhile."""
    stored = list(stored)
    revision = records.recorded(owner, stored, wanted_before(model))
    if revision is None:
        return bare
    good = _last_good(model, stored, revision.hash)
    return _gone_back(replace(bare, revision=revision, good=good, held=True), model, stored, rollback)


def _gone_back(found: Plan, model: Mapping[str, Any], stored: list[Mapping[str, Any]], rollback: bool) -> Plan:
    """The same; with the last good revision, where the wanted one was given up for it."""
    assert found.revision is not None
    rejection = records.rejection_of(stored, found.revision.hash)
    if rejection is None or found.good is None or not rollback or rejection.retry != retry_of(model):
        return found
    return found.rejecting(rejection)


def retry_of(model: Mapping[str, Any]) -> str:
    """The user's word that a revision that was given up is to be tried again, when it changes."""
    return str((model["metadata"].get("annotations") or {}).get(labels.RETRY, ""))


def lost_names(model: Mapping[str, Any], rivals: Iterable[Mapping[str, Any]]) -> dict[str, Loss]:
    """Names of `model` that another model of the namespace has a better right to."""
    mine = claims.claim(model) or claims.claim({**model, "status": {}})
    others = [one for one in rivals if one["metadata"]["uid"] != model["metadata"]["uid"]]
    claimed = [found for other in others if (found := claims.claim(other)) is not None]
    return claims.conflicts(mine, claimed) if mine is not None else {}


def wanted_before(model: Mapping[str, Any]) -> str:
    """The revision that the model's status says is wanted; empty: none."""
    return str(((model.get("status") or {}).get("model") or {}).get("wanted") or "")


def _last_good(model: Mapping[str, Any], stored: Iterable[Mapping[str, Any]], wanted: str) -> Revision | None:
    good = str(((model.get("status") or {}).get("model") or {}).get("lastGood") or "")
    return records.stored_revision(stored, good) if good and good != wanted else None


def _nameless(names: Iterable[Registration], lost: Mapping[str, Loss]) -> Failure | None:
    """A model of which every name is another's has nothing to serve."""
    names = [one for one in names if one.kind is not NameKind.ADAPTER]
    if any(one.name not in lost for one in names):
        return None
    said = "No name is left. " + " ".join(lost[one.name].words(one.name) for one in names)
    passing = all(lost[one.name].passing for one in names)
    return failure("NameHandover" if passing else "NameConflict", said)
