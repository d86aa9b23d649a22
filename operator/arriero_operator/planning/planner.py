"""The plan for a model, with what has to be looked up for it."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from arriero_api.contract import Registration
from arriero_operator.cache.store import Cache
from arriero_operator.configuration.settings import Settings
from arriero_operator.decide import acceptance, claims
from arriero_operator.decide.acceptance import Asked
from arriero_operator.decide.plan import Plan, holding, lost_names, plan
from arriero_operator.diagnose.failures import failure
from arriero_operator.kube.protocol import CLAIMS, Kube, Object
from arriero_operator.observing.observe import revisions_of
from arriero_operator.planning.outside import Outside
from arriero_operator.planning.trial import AGAIN, Trials
from arriero_operator.planning.turns import Turns
from arriero_operator.recent import Recent
from arriero_operator.render import credentials, names, template
from arriero_operator.render.references import CLAIM, CONFIG_MAP, STORAGE_CLASS, Reference, references
from arriero_operator.revisions.lineage import Seen
from arriero_operator.rounds.observed import Observed
from arriero_operator.work.keys import Key

_CLASS_FIELD: Final = "spec.cache.claimTemplate.storageClassName"
_READ: Final = 1_024
"""How many specs are remembered as laid over their profile: a model that starts is worked on several times."""


class Planner:
    """Plans for models; calls `changed` with the key of one whose plan may have become another."""

    def __init__(self, kube: Kube, cache: Cache, settings: Settings, changed: Callable[[Key], None]) -> None:
        self._cache = cache
        self._settings = settings
        self._outside = Outside(kube, settings.reads, changed)
        self.claim_modes = self._outside.claim_modes
        """What `Outside` says of a claim's access modes."""
        self._turns = Turns(cache, settings, changed)
        self._trials = Trials(kube)
        self._needed: dict[Key, tuple[str, tuple[Reference, ...]]] = {}
        self._asked: Recent[Key, tuple[tuple[str, int], Asked]] = Recent(_READ)

    async def plan(self, observed: Observed) -> Plan:
        """Raises KubeError."""
        if observed.misread:
            self._turns.passed(observed.key)
            return self._misread(observed)
        asked = self._read(observed)
        if asked.inputs is None or asked.refused is not None:
            self._turns.passed(observed.key)
            return self._planned(observed, asked, Seen())
        needed = (*self._references(observed, asked), *self._class(observed), *credentials.needed(observed.spec))
        seen = await self._outside.look(observed.key, needed, observed.spec.replicas)
        found = self._rolling(observed, asked, seen, self._planned(observed, asked, seen))
        return await self._tried(observed, asked, found)

    def held(self, observed: Observed) -> Plan:
        """What was accepted last, where a plan cannot be made for now; neither it nor anything else is refused."""
        found = self._planned(observed, self._read(observed), Seen())
        return self._holding(observed, Plan(found.names, found.lost, found.refused, profile=found.profile))

    def _misread(self, observed: Observed) -> Plan:
        names = claims.wanted_names(observed.owner.name, observed.spec)
        lost = lost_names(observed.model, self._rivals(observed, names))
        why = failure("SpecNotUnderstood", observed.misread)
        return self._holding(observed, Plan(names, lost, why))

    def _rivals(self, observed: Observed, names: Iterable[Registration]) -> list[Object]:
        return self._cache.rivals(observed.key[0], [one.name for one in names])

    def _holding(self, observed: Observed, bare: Plan) -> Plan:
        stored = revisions_of(self._cache, observed)
        rollback = observed.spec.rollout.rollback
        return holding(bare, observed.owner, observed.model, stored, rollback)

    def settled(self, key: Key) -> None:
        """The model rests, as the cache says by now: its turn is over."""
        self._turns.passed(key)

    def forget(self, key: Key) -> None:
        """The model is gone."""
        self._outside.forget(key)
        self._trials.forget(key)
        self._turns.passed(key)
        self._needed.pop(key, None)
        self._asked.drop(key)

    def _read(self, observed: Observed) -> Asked:
        """The spec over its profile; again only where it has become another."""
        metadata = observed.model["metadata"]
        version = (metadata["uid"], metadata["generation"])
        known = self._asked.get(observed.key)
        if known is not None and known[0] == version:
            return known[1]
        found = acceptance.asked(observed.spec, self._settings)
        self._asked.put(observed.key, (version, found))
        return found

    def _planned(self, observed: Observed, asked: Asked, seen: Seen, *, rolling: bool = False, moved: str = "") -> Plan:
        rivals = self._rivals(observed, claims.wanted_names(observed.owner.name, asked.spec))
        stored = revisions_of(self._cache, observed)
        return plan(observed.owner, observed.model, asked, rivals, stored, seen, rolling, moved)

    def _rolling(self, observed: Observed, asked: Asked, seen: Seen, found: Plan) -> Plan:
        """The same with the profile as it is now, or with its image, where it is the model's turn."""
        if asked.inputs is None or asked.profile is None:
            return found
        rolls = self._settings.changes.images == "OneByOne" and bool(found.outdated)
        if not (rolls or found.waits) or found.refused is not None or observed.spec.paused:
            self._turns.passed(observed.key)
            return found
        moved = self._turns.mark(asked.profile.name) if found.waits else ""
        # Both turns where both have changed, always in this order: pods of a new profile have its new image too.
        if moved and not self._turns.may(observed.key, moved):
            return found
        if rolls and not self._turns.may(observed.key, asked.inputs.default_image):
            return found
        return self._planned(observed, asked, seen, rolling=rolls, moved=moved)

    async def _tried(self, observed: Observed, asked: Asked, found: Plan) -> Plan:
        """Refused, where the API server does not take the pods of a new revision."""
        if found.revision is None or found.inputs is None or not found.inputs.pod_templates or observed.spec.paused:
            return found
        if any(names.revision_of(one) == found.revision.hash for one in revisions_of(self._cache, observed)):
            return found
        why = await self._trials.refusal(observed.owner, found.revision, asked.written(found.revision.template))
        if why is None:
            return found
        refused = Plan(found.names, found.lost, why, profile=found.profile, retry_after=AGAIN)
        return self._holding(observed, refused)

    def _class(self, observed: Observed) -> tuple[Reference, ...]:
        """The class of the claim that is to be made, which cannot be given another one afterwards."""
        wanted = observed.spec.cache.claim_template if observed.spec.cache else None
        if wanted is None or not wanted.storage_class_name:
            return ()
        claim = names.cache_claim(observed.owner.name)
        made = self._cache.get(CLAIMS, observed.key[0], claim) is not None
        return () if made else (Reference(STORAGE_CLASS, wanted.storage_class_name, where=_CLASS_FIELD),)

    def _references(self, observed: Observed, asked: Asked) -> tuple[Reference, ...]:
        """What the pods refer to, but for what the operator makes itself."""
        assert asked.inputs is not None
        known = self._needed.get(observed.key)
        if known is not None and known[0] == asked.inputs.hash:
            return known[1]
        inputs, name = asked.inputs, observed.owner.name
        own = {(CONFIG_MAP, names.revisioned(name, inputs.hash))}
        if inputs.own_cache_claim:
            own.add((CLAIM, names.cache_claim(name)))
        plain = template.own_template(name, inputs)
        whole = template.laid_over(plain, inputs)
        written = asked.written(whole)
        found = [one for one in references(whole, _followed(plain)) if (one.kind, one.name) not in own]
        needed = tuple(replace(one, where=written.place(one.where)) for one in found)
        self._needed[observed.key] = (inputs.hash, needed)
        return needed


def _followed(plain: Object) -> list[str]:
    """Volumes with Secrets that the runtime reads again when they change: those that the operator made itself."""
    return [str(one["name"]) for one in plain["spec"]["volumes"] if "secret" in one or "projected" in one]
