"""Which revision a spec means, where more than the spec decides what its pods are. Pure.

The same spec gets new pods when its profile or something that it refers to changes, or when the profile's image is
rolled out. Each ControllerRevision says in an annotation of what it was made; a revision that was made of the same
again is found by it, so that pods are replaced once for each change, and not at all by an operator's upgrade.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from arriero_api import labels
from arriero_api.contract import Failure
from arriero_api.types import Spec
from arriero_operator.configuration.limits import Changes
from arriero_operator.configuration.settings import Profile
from arriero_operator.render import credentials, names
from arriero_operator.render.inputs import Inputs, pod_inputs

_BARE = Profile("", "")


@dataclass(frozen=True, slots=True)
class Lineage:
    """Of what a revision was made.

    `spec` is a hash of the spec's own part of the inputs, `seen` one of the contents that it refers to (empty: none).
    `changed` and `image` went into the revision's own hash. `retry` is the user's word for another try. `profile` is a
    hash of the profile, where the model was moved to it in its turn.
    """

    spec: str
    seen: str = ""
    changed: str = ""
    image: str = ""
    retry: str = ""
    profile: str = ""

    def to_json(self) -> str:
        """For the annotation."""
        return json.dumps({name: value for name, value in asdict(self).items() if value}, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found outside of the resource: a hash of the contents that it refers to, what of it is not there, and
    why the spec cannot be acted on."""

    contents: str = ""
    missing: Sequence[str] = ()
    refused: Failure | None = None
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """The wanted revision: that of `inputs`, or the stored one of hash `kept`. `stale`: what it does not follow yet;
    `waits`: it does when it is the model's turn."""

    inputs: Inputs
    lineage: Lineage
    kept: str = ""
    stale: str = ""
    stored: bool = field(default=False)
    waits: bool = False


def lineage_of(record: Mapping[str, Any]) -> Lineage | None:
    """As the ControllerRevision says; None for one of an operator that did not say it, or that was edited by hand."""
    text = (record["metadata"].get("annotations") or {}).get(labels.INPUTS)
    try:
        said = json.loads(text) if text else None
        # What a newer operator says beside this is not this one's to judge.
        return Lineage(**{one.name: said[one.name] for one in fields(Lineage) if one.name in said}) if said else None
    except (ValueError, TypeError):
        return None


def spec_hash(spec: Spec) -> str:
    """Of what the spec itself says about pods."""
    return hashlib.sha256(f"{spec.profile or ''} {pod_inputs(spec, _BARE).hash}".encode()).hexdigest()[:10]


@dataclass(frozen=True, slots=True)
class Demand:
    """What is known of the spec's side: its inputs as the profile is now, `retry`, the revision that was wanted last
    (`current`), and whether it is the model's turn to get the profile's image (`rolling`) or to follow the profile
    (`moved`: its hash)."""

    spec: Spec
    inputs: Inputs
    retry: str
    current: str
    rolling: bool = False
    moved: str = ""


def choose(demand: Demand, seen: Seen, stored: Iterable[Mapping[str, Any]], changes: Changes) -> Choice:
    """The revision that pods are to be of."""
    records = sorted(stored, key=lambda one: (names.revision_of(one) != demand.current, -int(one.get("revision", 0))))
    same = [(_fitting(demand, one), line) for one in records if (line := _same(one, demand))]
    for fitting, line in same:
        if seen.missing or not line.spec or line.seen == seen.contents:
            if line.profile and (kept := _kept(demand, seen, records, changes)) and kept.waits:
                return kept  # its turn may be another's by now, as the status does not tell of it
            if not line.spec:
                line = replace(line, spec=spec_hash(demand.spec), seen=seen.contents)
            return _chosen(fitting, line)
    return _kept(demand, seen, records, changes) or _new(demand, seen, records)


def _same(record: Mapping[str, Any], demand: Demand) -> Lineage | None:
    """The lineage of a revision that was made of the same inputs; one without a word about it has an empty one."""
    line = lineage_of(record) or Lineage("")
    demand = _fitting(demand, record)
    if demand.rolling and line.image != demand.inputs.default_image:
        return None
    return line if names.revision_of(record) == _inputs(demand, line).hash else None


def _fitting(demand: Demand, record: Mapping[str, Any]) -> Demand:
    """The same where pods of the revision have more Secrets for adapters than are needed: an adapter that goes takes
    no pod with it."""
    inputs = demand.inputs
    there = credentials.mounted((record.get("data") or {}).get("template") or {}) - {inputs.credentials}
    if there == set(inputs.adapter_credentials) or not there.issuperset(inputs.adapter_credentials):
        return demand
    return replace(demand, inputs=replace(inputs, adapter_credentials=sorted(there)))


def _chosen(demand: Demand, line: Lineage) -> Choice:
    return Choice(_inputs(demand, line), line, stored=True)


def _kept(demand: Demand, seen: Seen, records: Iterable[Mapping[str, Any]], changes: Changes) -> Choice | None:
    """The revision that was wanted last, where only things outside of the spec have changed, and that is to be told or
    is another model's turn."""
    rule = changes.profiles or changes.references
    if demand.rolling or demand.moved or "Rollout" == rule == changes.references:
        return None
    for one in records:
        line = lineage_of(one)
        if (
            names.revision_of(one) == demand.current
            and line
            and (line.spec, line.retry) == (spec_hash(demand.spec), demand.retry)
        ):
            contents = line.seen != seen.contents
            profile = _inputs(_fitting(demand, one), line).hash != demand.current
            waits = profile and rule == "OneByOne"
            # New contents would take the new profile along, which may be one that another model has failed with.
            if (contents and changes.references == "Rollout" and not waits) or (profile and rule == "Rollout"):
                return None
            words = "what the spec refers to has" if contents else "the profile or the hub's endpoint has"
            stale = f"{words} changed since the pods were made" + ("; models follow one by one" if waits else "")
            return Choice(demand.inputs, line, demand.current, stale, stored=True, waits=waits)
    return None


def _new(demand: Demand, seen: Seen, records: Iterable[Mapping[str, Any]]) -> Choice:
    image = demand.inputs.default_image if demand.rolling else ""
    line = Lineage(spec_hash(demand.spec), seen.contents, "", image, demand.retry, demand.moved)
    if _inputs(demand, line).hash in {names.revision_of(one) for one in records}:
        salt = f"{seen.contents} {demand.retry}"
        line = replace(line, changed=hashlib.sha256(salt.encode()).hexdigest()[:10])
    return Choice(_inputs(demand, line), line)


def _inputs(demand: Demand, line: Lineage) -> Inputs:
    if not line.changed and not line.image:
        return demand.inputs
    return replace(demand.inputs, changed=line.changed, rolled_image=line.image)
