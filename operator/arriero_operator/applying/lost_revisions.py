"""A revision whose ControllerRevision was deleted by hand is had back from the Deployment that has its template.

Rendered anew it would be what this operator and today's profile make of it, so that pods would be replaced; and of a
spec that is refused nothing can be rendered, so that nothing would be kept right.
"""

import json
from collections.abc import Mapping
from typing import Any

from arriero_api import labels, pod
from arriero_operator.applying.apply import Applier, ChildProblem, Leaving, Part
from arriero_operator.cache.store import Cache
from arriero_operator.kube.errors import NotFound
from arriero_operator.kube.protocol import DEPLOYMENTS, REVISIONS, Kube, Object
from arriero_operator.observing.observe import deployment_of, revisions_of
from arriero_operator.render import children
from arriero_operator.revisions import records
from arriero_operator.rounds.observed import Observed
from arriero_operator.rounds.round import belongs


class LostRevisions:
    """Stores again what the Deployment still knows."""

    def __init__(self, kube: Kube, cache: Cache, applier: Applier, operator: str) -> None:
        self._kube = kube
        self._cache = cache
        self._applier = applier
        self._operator = operator

    async def regain(self, observed: Observed) -> None:
        """Where the Deployment's revision is one that the status tells of, and is not stored. Raises KubeError."""
        lost = self._lost(observed)
        if not lost:
            return
        try:
            live = await self._kube.get(DEPLOYMENTS, observed.key[0], observed.stem)
        except NotFound:
            return
        template = applied(live)
        if template is None or not belongs(live, observed.owner) or _revision(live) != lost:
            return
        number = records.following(revisions_of(self._cache, observed))
        record = children.controller_revision(observed.owner, lost, template, number, self._operator)
        said = (live["metadata"].get("annotations") or {}).get(labels.INPUTS)
        record["metadata"]["annotations"] |= {labels.INPUTS: said} if said else {}
        try:
            await self._applier.ensure(observed.owner, REVISIONS, [Part(labels.MANAGER, record)])
        except (ChildProblem, Leaving):
            return  # nothing is rolled without a record: what hinders it is told where one is to be made

    def _lost(self, observed: Observed) -> str:
        """The hash of the revision; empty where there is none, as usual."""
        found = deployment_of(self._cache, observed)
        revision = _revision(found) if found is not None else ""
        stored = (records.hash_of(one) for one in revisions_of(self._cache, observed))
        if not revision or revision in stored:
            return ""
        said = observed.before.get("model") or {}
        return revision if revision in (said.get("wanted"), said.get("serving"), said.get("lastGood")) else ""


def applied(live: Object) -> Object | None:
    """The pod template as the operator last applied it: without what the API server and others have put in.

    None where the object does not tell who has set what, or where a part is another's by now.
    """
    for entry in live["metadata"].get("managedFields") or ():
        if entry["manager"] == labels.TEMPLATE_MANAGER and entry["operation"] == "Apply":
            found = part(live, entry["fieldsV1"]).get("spec", {}).get("template")
            return found if isinstance(found, dict) and _whole(found) else None
    return None


def _whole(template: Object) -> bool:
    """Whether the runtime's container is there with its image, which somebody else may have set since."""
    containers = (template.get("spec") or {}).get("containers") or ()
    return any(one.get("name") == pod.CONTAINER and one.get("image") for one in containers)


def part(live: Any, fields: Mapping[str, Any]) -> Any:
    """The part of a value that is set by who has set these fields (FieldsV1 of the API, structured-merge-diff)."""
    inner = {key: below for key, below in fields.items() if key != "."}
    if isinstance(live, list):
        if not inner:
            return [] if fields else live
        return [part(one, below) for one in live if (below := _below(one, inner)) is not None]
    if not inner or not isinstance(live, Mapping):
        return {} if fields and isinstance(live, Mapping) else live
    named = {key.removeprefix("f:"): below for key, below in inner.items()}
    return {name: part(live[name], below) for name, below in named.items() if name in live}


def _below(one: Any, fields: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The fields below this element of a list; None where it is another's."""
    for key, below in fields.items():
        kind, _, text = key.partition(":")
        said = json.loads(text)
        if one == said if kind == "v" else all(one.get(name) == value for name, value in said.items()):
            return below
    return None


def _revision(deployment: Object) -> str:
    return str((deployment["spec"]["template"]["metadata"].get("labels") or {}).get(labels.REVISION, ""))
