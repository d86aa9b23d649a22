"""A revision whose ControllerRevision was deleted by hand is had back.

From the Deployment, where that has its template; of one that served before as the record was last seen.

Rendered anew it would be what this operator and today's profile make of it, so that pods would be replaced; and of a
spec that is refused nothing can be rendered, so that nothing would be kept right.
"""

from collections.abc import Mapping

from arriero_api import labels
from arriero_operator.applying.apply import Applier
from arriero_operator.applying.managed_fields import template_of
from arriero_operator.applying.parts import Part
from arriero_operator.applying.problems import ChildProblem, Leaving
from arriero_operator.cache.store import Cache
from arriero_operator.kube.errors import NotFound
from arriero_operator.kube.protocol import DEPLOYMENTS, REVISIONS, Kube, Object
from arriero_operator.observing.observe import deployment_of, revisions_of
from arriero_operator.render import children, names
from arriero_operator.revisions import records
from arriero_operator.rounds.observed import Observed
from arriero_operator.work.keys import Key


class LostRevisions:
    """Stores again what the Deployment still knows, and what was seen of the revision to go back to."""

    def __init__(self, kube: Kube, cache: Cache, applier: Applier) -> None:
        self._kube = kube
        self._cache = cache
        self._applier = applier
        self._seen: dict[Key, dict[str, Object]] = {}
        """By model and hash. The one in force too: once the Deployment is at the next, nothing else tells of it, and it
        may be deleted before another round has looked at the model."""

    async def regain(self, observed: Observed) -> None:
        """Those that the status tells of and that are not stored. Raises KubeError."""
        found = deployment_of(self._cache, observed)
        current = names.revision_of(found["spec"]["template"]) if found is not None else ""
        stored = {names.revision_of(one): one for one in revisions_of(self._cache, observed)}
        served = {observed.serving, observed.last_good} - {""}
        if current and current not in stored and current in {*served, observed.wanted}:
            await self._of_deployment(observed, current)
        await self._as_seen(observed, served, stored, current)

    def forget(self, key: Key) -> None:
        """The model is gone."""
        self._seen.pop(key, None)

    async def _of_deployment(self, observed: Observed, lost: str) -> None:
        try:
            live = await self._kube.get(DEPLOYMENTS, observed.key[0], observed.stem)
        except NotFound:
            return
        template = template_of(live)
        if template is None or not observed.owner.owns(live) or names.revision_of(live["spec"]["template"]) != lost:
            return
        number = records.following(revisions_of(self._cache, observed))
        record = children.controller_revision(observed.owner, lost, template, number, records.VERSION)
        said = (live["metadata"].get("annotations") or {}).get(labels.INPUTS)
        record["metadata"]["annotations"] |= {labels.INPUTS: said} if said else {}
        await self._store(observed, record)

    async def _as_seen(self, observed: Observed, needed: set[str], stored: Mapping[str, Object], current: str) -> None:
        """Where the Deployment is at another (`current`): when its pods fail, it goes back to one of these."""
        before = self._seen.pop(observed.key, {})
        seen = {one: found for one in needed if (found := stored.get(one) or before.get(one)) is not None}
        if seen:
            self._seen[observed.key] = seen
        for lost in sorted(seen.keys() - stored.keys() - {current}):
            known = records.recorded(observed.owner, [seen[lost]], lost)
            if known is not None and observed.owner.owns(seen[lost]):
                await self._store(observed, known.record)

    async def _store(self, observed: Observed, record: Object) -> None:
        try:
            await self._applier.ensure(observed.owner, REVISIONS, [Part(labels.MANAGER, record)])
        except (ChildProblem, Leaving):
            return  # nothing is rolled without a record, and a failure says that there is none to go back to
