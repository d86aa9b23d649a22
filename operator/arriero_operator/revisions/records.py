"""Revisions of a model: ControllerRevisions that hold a rendered pod template each. Pure.

A template is rendered only for inputs that no revision has; afterwards it comes from the stored revision, so that a
newer operator, or a profile with another image, restarts nothing. Except what never served: see `stillborn`.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any, Final

from arriero_api import labels, pod
from arriero_api.contract import Failure
from arriero_api.scrub import scrubbed
from arriero_operator.diagnose.failures import catalogued
from arriero_operator.pods.facts import PodFacts
from arriero_operator.render import children, names, template
from arriero_operator.render.inputs import Inputs
from arriero_operator.render.owner import Json, Owner
from arriero_operator.revisions.lineage import Choice

VERSION: Final = metadata.version("arriero")
"""Recorded in every revision that this operator renders."""
_FAILURE_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class Revision:
    """The wanted revision: its hash, its pod template, and the ControllerRevision to apply."""

    hash: str
    template: Json
    record: Json

    @property
    def inputs(self) -> str:
        """Of what it was made, as its annotation says; empty where it does not."""
        return str((self.record["metadata"].get("annotations") or {}).get(labels.INPUTS, ""))


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a revision was given up, and at which value of the model's annotation for another try."""

    failure: Failure
    retry: str

    def to_json(self) -> str:
        """For the annotation of the ControllerRevision; no secret in the words of others goes into it."""
        failure = scrubbed(self.failure, frozenset())
        return json.dumps({"retry": self.retry, "failure": json.loads(failure.to_json(_FAILURE_BYTES))})


def rejection_of(stored: Iterable[Mapping[str, Any]], revision: str) -> Rejection | None:
    """Why the stored revision was given up; None where it was not."""
    for one in stored:
        text = (one["metadata"].get("annotations") or {}).get(labels.FAILED)
        if names.revision_of(one) == revision and text:
            try:
                found = json.loads(text)
                return Rejection(catalogued(Failure.from_dict(found["failure"])), str(found["retry"]))
            except (ValueError, KeyError, TypeError):
                return None  # edited by hand: it is tried again
    return None


def rejected(revision: Revision, why: Rejection) -> Revision:
    """The revision with the reason why it was given up in its record."""
    metadata = revision.record["metadata"]
    annotations = metadata["annotations"] | {labels.FAILED: why.to_json()}
    return replace(revision, record=revision.record | {"metadata": metadata | {"annotations": annotations}})


def stored_revision(stored: Iterable[Mapping[str, Any]], revision: str) -> Revision | None:
    """A revision as it is stored; None where it is not, or not whole."""
    for one in stored:
        if names.revision_of(one) == revision and "template" in (one.get("data") or {}):
            return Revision(revision, one["data"]["template"], dict(one))
    return None


def recorded(owner: Owner, stored: Iterable[Mapping[str, Any]], revision: str) -> Revision | None:
    """A stored revision with the record to apply for it as it stands; None where it is not there, or not whole."""
    known = stored_revision(stored, revision)
    if known is None:
        return None
    record = children.controller_revision(owner, revision, known.template, known.record["revision"], VERSION)
    record["metadata"]["annotations"] |= {labels.INPUTS: known.inputs} if known.inputs else {}
    return Revision(revision, known.template, record | {"data": known.record["data"]})


def wanted(owner: Owner, choice: Choice, stored: Iterable[Mapping[str, Any]]) -> Revision:
    """The chosen revision: the stored one where there is one."""
    stored = list(stored)
    hash_ = choice.kept or choice.inputs.hash
    own = [one for one in stored if one["metadata"]["name"] == names.revisioned(owner.name, hash_)]
    found = recorded(owner, own, hash_)
    if found is None:
        body = template.pod_template(owner.name, choice.inputs, owner.operator_class)
        found = Revision(hash_, body, children.controller_revision(owner, hash_, body, following(stored), VERSION))
    found.record["metadata"]["annotations"][labels.INPUTS] = choice.lineage.to_json()
    return found


def following(stored: Iterable[Mapping[str, Any]]) -> int:
    """The number of the next revision."""
    return 1 + max((int(one.get("revision", 0)) for one in stored), default=0)


def stillborn(
    inputs: Inputs, stored: Iterable[Mapping[str, Any]], pods: Iterable[PodFacts], served: Iterable[str]
) -> Mapping[str, Any] | None:
    """The stored revision of `inputs` where none of its pods ever served and its image is no longer the profile's.

    To render it anew takes nothing from anybody, and the image may be what it failed by. `served` are the revisions
    that serve or did.
    """
    known = stored_revision(stored, inputs.hash)
    if known is None or inputs.image or inputs.hash in served or _image(known.template) == inputs.default_image:
        return None
    own = (one for one in pods if one.revision == inputs.hash)
    return None if any(one.ready or one.was_ready_since_start for one in own) else known.record


def _image(body: Mapping[str, Any]) -> str:
    return {str(one["name"]): str(one["image"]) for one in body["spec"]["containers"]}[pod.CONTAINER]


def surplus(
    stored: Iterable[Mapping[str, Any]], pods: Iterable[PodFacts], keep: Iterable[str]
) -> list[Mapping[str, Any]]:
    """Objects of revisions that nothing needs: neither in `keep` (wanted, serving, last good) nor with a pod."""
    needed = {*keep, *(one.revision for one in pods)}
    return [one for one in stored if names.revision_of(one) and names.revision_of(one) not in needed]
