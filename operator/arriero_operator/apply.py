"""Children are brought into their wanted state: created, adopted or put right by server-side apply.

What was applied is remembered with how the object looked right after; an object that still looks so costs no request.
Objects of others are left alone.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from arriero_api import labels
from arriero_api.contract import Failure
from arriero_operator.cache import Cache
from arriero_operator.diagnose.failures import failure
from arriero_operator.diagnose.refusals import refused
from arriero_operator.kube.errors import Conflict, Forbidden, Invalid, NotFound
from arriero_operator.kube.protocol import MODELS, Kind, Kube, Object
from arriero_operator.render.children import Owner, canonical

_SYSTEM_ANNOTATIONS: Final = "deployment.kubernetes.io/"


class ChildProblem(Exception):
    """A child cannot be had; `failure` says why, `retry_after` (seconds) when to look again without being told."""

    def __init__(self, found: Failure, retry_after: float | None = None) -> None:
        super().__init__(found.message)
        self.failure = found
        self.retry_after = retry_after


class Leaving(Exception):
    """An object of this name is still on its way out; it is made anew once it has gone."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one field manager wants of an object. `opening` is applied before, where the object does not exist yet."""

    manager: str
    intent: Object
    opening: Object | None = None


@dataclass(slots=True)
class _Applied:
    model: str
    intents: dict[str, str] = field(default_factory=dict)
    looks: str = ""


class Applier:
    """Applies children of models, and remembers what it applied."""

    def __init__(self, kube: Kube, cache: Cache) -> None:
        self._kube = kube
        self._cache = cache
        self._applied: dict[tuple[str, str, str], _Applied] = {}

    async def ensure(self, owner: Owner, kind: Kind, parts: Sequence[Part]) -> Object:
        """The live object after all `parts`, in their order, are in force.

        Raises ChildProblem, Leaving, and KubeError where a retry may help.
        """
        name = parts[0].intent["metadata"]["name"]
        place = (kind.kind, owner.namespace, name)
        live = self._cache.get(kind, owner.namespace, name) or await self._look(kind, owner.namespace, name)
        if live is None:
            await self._confirm(owner)
            self._applied[place], live = await self._open(owner, kind, parts)
        else:
            _check(owner, kind, live)
        memory = self._applied.setdefault(place, _Applied(owner.name))
        same = live is not None and memory.looks == looks(live)
        for part in parts:
            digest = _digest(part.intent)
            if same and memory.intents.get(part.manager) == digest:
                continue
            live = await self._apply(kind, part.intent, part.manager)
            memory.intents[part.manager] = digest
        assert live is not None
        memory.looks = looks(live)
        return live

    async def remove(self, kind: Kind, obj: Mapping[str, Any]) -> None:
        """Deletes exactly this object."""
        metadata = obj["metadata"]
        self._applied.pop((kind.kind, metadata["namespace"], metadata["name"]), None)
        await self._kube.delete(kind, metadata["namespace"], metadata["name"], uid=metadata["uid"])

    def forget(self, namespace: str, model: str) -> None:
        """The model is gone: drop what was remembered of its children."""
        for place in [p for p, one in self._applied.items() if (p[1], one.model) == (namespace, model)]:
            del self._applied[place]

    async def _open(self, owner: Owner, kind: Kind, parts: Sequence[Part]) -> tuple[_Applied, Object | None]:
        """Make the object. Nothing is taken by force: somebody else may have made one of this name since the look.

        Raises ChildProblem and Leaving, as `_check`, for one that is not this model's.
        """
        opening = next((part for part in parts if part.opening is not None), parts[0])
        intent = opening.opening or opening.intent
        try:
            made = await self._apply(kind, intent, opening.manager, force=False)
        except Conflict:
            found = await self._look(kind, owner.namespace, intent["metadata"]["name"])
            if found is not None:
                _check(owner, kind, found)
            return _Applied(owner.name), found
        return _Applied(owner.name, {opening.manager: _digest(intent)}, looks(made)), made

    async def _look(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """Live: a foreign object is not in the cache, which holds labelled ones only."""
        try:
            return await self._kube.get(kind, namespace, name)
        except NotFound:
            return None

    async def _confirm(self, owner: Owner) -> None:
        """Nothing is made for a model that is gone, of which the event may still be on its way. Raises Leaving."""
        model = await self._look(MODELS, owner.namespace, owner.name)
        if model is None or model["metadata"]["uid"] != owner.uid or "deletionTimestamp" in model["metadata"]:
            raise Leaving(f"the model {owner.name} is gone")

    async def _apply(self, kind: Kind, intent: Object, manager: str, *, force: bool = True) -> Object:
        where = f"{kind.kind} {intent['metadata']['name']}"
        try:
            return await self._kube.apply(kind, intent, manager=manager, force=force)
        except Invalid as error:
            raise ChildProblem(refused(where, error.message, intent)) from error
        except Forbidden as error:
            if error.is_quota:
                raise ChildProblem(failure("QuotaExceeded", f"{where}: {error.message}"), 30.0) from error
            if "being terminated" in error.message:
                raise Leaving(error.message) from error
            raise ChildProblem(failure("ChildRefused", f"{where}: {error.message}"), 30.0) from error


def _digest(intent: Object) -> str:
    return hashlib.sha256(canonical(intent).encode()).hexdigest()


def looks(live: Mapping[str, Any]) -> str:
    """Text that changes whenever somebody changes what Arriero may own of the object, but not with its status."""
    metadata = live["metadata"]
    annotations = metadata.get("annotations") or {}
    own = {key: value for key, value in annotations.items() if not key.startswith(_SYSTEM_ANNOTATIONS)}
    version = metadata.get("generation") or metadata["resourceVersion"]
    owners = metadata.get("ownerReferences") or []
    return json.dumps([metadata["uid"], version, metadata.get("labels") or {}, own, owners], sort_keys=True)


def _check(owner: Owner, kind: Kind, live: Mapping[str, Any]) -> None:
    """Raises ChildProblem for an object of somebody else, Leaving for one that is on its way out."""
    metadata = live["metadata"]
    controller = next((ref for ref in metadata.get("ownerReferences") or () if ref.get("controller")), None)
    marks = metadata.get("labels") or {}
    if controller is None:
        ours = marks.get(labels.MANAGED_BY) == labels.MANAGED_BY_VALUE and (
            (metadata.get("annotations") or {}).get(labels.OWNER) == owner.name
        )
    else:
        ours = controller["uid"] == owner.uid
        if not ours and (controller["kind"], controller["name"]) == (labels.KIND, owner.name):
            raise Leaving(f"{kind.kind} {metadata['name']} belongs to a deleted model of this name")
    if not ours:
        words = f"the {kind.kind} {metadata['name']!r} of this namespace exists and is not this model's"
        raise ChildProblem(failure("ChildNameTaken", words), 10.0)
    if "deletionTimestamp" in metadata:
        raise Leaving(f"{kind.kind} {metadata['name']} is being deleted")
