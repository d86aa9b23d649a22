"""Children are brought into their wanted state: created, adopted or put right by server-side apply.

What was applied is remembered with how the object looked right after; an object that still looks so costs no request.
An operator that starts anew reads it off the object. Objects of others are left alone.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from arriero_api import labels
from arriero_operator.applying import marks
from arriero_operator.applying.parts import Applied, Part, looks, recalled, settling
from arriero_operator.applying.problems import ChildProblem, Leaving, check
from arriero_operator.cache.store import Cache
from arriero_operator.diagnose.failures import failure
from arriero_operator.diagnose.refusals import hindered, refused
from arriero_operator.kube.errors import Conflict, Forbidden, Invalid, NotFound
from arriero_operator.kube.protocol import CLAIMS, MODELS, SERVICES, Kind, Kube, Object
from arriero_operator.pods import facts
from arriero_operator.render.owner import Owner, names_model

_MERGEABLE: Final = (SERVICES, CLAIMS)
"""Kinds in which somebody else's object could take up ours without a conflict. Of the others the name holds a hash, or
their selector is one field, so that to apply without force is refused."""
_YOUNG: Final = timedelta(minutes=10)
"""Longer than thousands of models that were made at once wait for their turn."""
_TRIES: Final = 3
"""How many times a part is applied that others write over meanwhile, or that the API server does not keep as it is."""


_Place = tuple[str, str, str]
"""Kind, namespace and name of a child."""


class Applier:
    """Applies children of models, and remembers what it applied."""

    def __init__(self, kube: Kube, cache: Cache) -> None:
        self._kube = kube
        self._cache = cache
        self._applied: dict[_Place, Applied] = {}
        self._places: defaultdict[tuple[str, str], set[_Place]] = defaultdict(set)

    async def ensure(self, owner: Owner, kind: Kind, parts: Sequence[Part]) -> Object:
        """The live object after all `parts`, in their order, are in force.

        Raises ChildProblem, Leaving, and KubeError where a retry may help.
        """
        name = parts[0].intent["metadata"]["name"]
        place = (kind.kind, owner.namespace, name)
        live = self._cache.get(kind, owner.namespace, name)
        if live is None and kind in _MERGEABLE:
            live = await self._look(kind, owner.namespace, name)
        if live is None:
            await self._confirm(owner)
            self._applied[place], live = await self._open(owner, kind, parts)
        else:
            check(owner, kind, live)
        if place not in self._applied and live is not None:
            self._applied[place] = recalled(live, parts)
        self._places[owner.namespace, owner.name].add(place)
        memory = self._applied[place]
        same = live is not None and memory.fits(live)
        wanted = [part for part in parts if not same or memory.intents.get(part.manager) != part.digest]
        if wanted and live is not None and labels.OPENED in (live["metadata"].get("annotations") or {}):
            wanted = [*settling(live, parts), *parts]
        if wanted:
            live = await self._bring(kind, parts, wanted, memory)
        assert live is not None
        if wanted or not same:
            memory.saw(live)
        return live

    async def remove(self, kind: Kind, obj: Mapping[str, Any]) -> None:
        """Deletes exactly this object."""
        metadata = obj["metadata"]
        place = (kind.kind, metadata["namespace"], metadata["name"])
        self._applied.pop(place, None)
        self._places[metadata["namespace"], names_model(obj)].discard(place)
        await self._kube.delete(kind, metadata["namespace"], metadata["name"], uid=metadata["uid"])

    def forget(self, namespace: str, model: str) -> None:
        """The model is gone: drop what was remembered of its children."""
        for place in self._places.pop((namespace, model), ()):
            self._applied.pop(place, None)

    async def _open(self, owner: Owner, kind: Kind, parts: Sequence[Part]) -> tuple[Applied, Object | None]:
        """Make the object. Nothing is taken by force: somebody else may have made one of this name since the look.

        Raises ChildProblem and Leaving, as `check`, for one that is not this model's.
        """
        whole = next((part for part in parts if part.opening is not None), parts[0])
        try:
            made = await self._apply(kind, whole, parts, force=False)
        except Conflict:
            found = await self._look(kind, owner.namespace, whole.intent["metadata"]["name"])
            if found is not None:
                check(owner, kind, found)
            return Applied(), found
        return Applied({part.manager: part.digest for part in parts}, looks(made)), made

    async def _bring(self, kind: Kind, parts: Sequence[Part], wanted: Sequence[Part], memory: Applied) -> Object:
        """Apply what is wanted; again what somebody else has written over before the last answer, which tells of it."""
        live: Object = {}
        for _ in range(_TRIES):
            for part in wanted:
                live = await self._apply(kind, part, [part])
                memory.intents[part.manager] = part.digest
            wanted = [part for part in parts if not marks.covers(live, part.intent)]
            if not wanted:
                break
        return live

    async def _look(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """Live: a foreign object is not in the cache, which holds labelled ones only."""
        try:
            return await self._kube.get(kind, namespace, name)
        except NotFound:
            return None

    async def _confirm(self, owner: Owner) -> None:
        """Nothing is made for a model that is gone, of which the event may still be on its way. Raises Leaving.

        A young one is not asked for: what is made for one that went so soon goes with it, as its owner is absent.
        """
        known = self._cache.get(MODELS, owner.namespace, owner.name)
        born = facts.time(known["metadata"].get("creationTimestamp")) if known is not None else None
        if born is not None and datetime.now(UTC) - born < _YOUNG:
            return
        model = await self._look(MODELS, owner.namespace, owner.name)
        if model is None or model["metadata"]["uid"] != owner.uid or "deletionTimestamp" in model["metadata"]:
            raise Leaving(f"the model {owner.name} is gone")

    async def _apply(self, kind: Kind, part: Part, told: Sequence[Part], *, force: bool = True) -> Object:
        """Apply one part, or the opening for all that are `told`, with their digests."""
        opens = not force and len(told) > 1
        intent = part.opening if opens and part.opening is not None else part.intent
        where = f"{kind.kind} {intent['metadata']['name']}"
        intent = marks.marked(intent, {one.manager: one.digest for one in told})
        if opens:
            intent["metadata"]["annotations"][labels.OPENED] = "true"
        try:
            return await self._kube.apply(kind, intent, manager=part.manager, force=force)
        except Invalid as error:
            raise ChildProblem(refused(where, error.message, intent)) from error
        except Forbidden as error:
            if error.is_quota:
                raise ChildProblem(failure("QuotaExceeded", f"{where}: {error.message}"), 30.0) from error
            if "being terminated" in error.message:
                raise Leaving(error.message) from error
            raise ChildProblem(hindered(where, error.message, denied=True), 30.0) from error
