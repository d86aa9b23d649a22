"""How far adapters are, from what the ready pods say of them. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from arriero_api.contract import AdapterState, AdapterStatus, NameKind, Registration, Registrations
from arriero_operator.decide.registered import FAILED, REGISTERED, REGISTERING
from arriero_operator.decide.situation import NameState
from arriero_operator.diagnose.failures import catalogued, sentence
from arriero_operator.pods import facts
from arriero_operator.pods.facts import PodFacts


@dataclass(frozen=True, slots=True)
class Trusted:
    """Names that the status calls Registered, and since when all were: proven by containers that ran by then."""

    names: frozenset[str] = frozenset()
    since: datetime | None = None

    def holds(self, pod: PodFacts, name: str) -> bool:
        """Whether the pod's running container was among them."""
        ran = self.since is not None and pod.running_since is not None and pod.running_since <= self.since
        return ran and name in self.names


NOTHING: Final = Trusted()
NO_FILES: Final[Mapping[str, Registrations]] = {}
_NOBODY: Final = Registration("", NameKind.ADAPTER)


def trusted(before: Mapping[str, Any], model: Mapping[str, Any]) -> Trusted:
    """After a restart of the operator no pod has said anything yet: what was proven for an unchanged spec holds."""
    if before.get("observedGeneration") != model["metadata"]["generation"]:
        return NOTHING
    named = (one for one in before.get("conditions") or () if one["type"] == "NamesRegistered")
    since = next((facts.time(one["lastTransitionTime"]) for one in named if one["status"] == "True"), None)
    return Trusted(frozenset(one["name"] for one in before.get("names") or () if one["state"] == REGISTERED), since)


def states(
    served: Sequence[Registration],
    ready: Sequence[PodFacts],
    known: Trusted,
    files: Mapping[str, Registrations] = NO_FILES,
) -> list[NameState]:
    """The state of each adapter among `served`: Registered when every ready pod has it, Failed when one cannot.

    `files` has what the pods of each revision are to serve: an adapter that is left out there waits for new pods.
    """
    told = {one.name: one for file in files.values() for one in file.adapters}
    found = []
    for one in served:
        if one.kind is NameKind.ADAPTER:
            state = _state(told[one.name] if told.get(one.name, _NOBODY).entry == one.entry else one, ready, known)
            found.append(_waiting(one, state, ready, files))
    return found


def _waiting(
    wanted: Registration, state: NameState, ready: Sequence[PodFacts], files: Mapping[str, Registrations]
) -> NameState:
    """The same; where pods were not made for the adapter, it says so beforehand."""
    without = {pod.revision for pod in ready if pod.revision in files and not _has(files[pod.revision], wanted)}
    if state.state != REGISTERING or not without:
        return state
    lacking = f"the Secret {wanted.credentials!r} or room for it" if wanted.credentials else "room for it"
    words = f"{wanted.name!r} waits for new pods: those of revision {', '.join(sorted(without))} lack {lacking}."
    return replace(state, message=words, reason="AdapterNeedsRollout")


def _has(file: Registrations, wanted: Registration) -> bool:
    return any(one.entry == wanted.entry for one in file.adapters)


def state_in(pod: PodFacts, wanted: Registration, known: Trusted) -> AdapterState:
    """The state of one adapter in one ready pod."""
    if pod.status is None:
        return AdapterState.REGISTERED if known.holds(pod, wanted.name) else AdapterState.REGISTERING
    found = _report(pod, wanted)
    return found.state if found is not None else AdapterState.REGISTERING


def _state(wanted: Registration, ready: Sequence[PodFacts], known: Trusted) -> NameState:
    serving = sum(state_in(pod, wanted, known) is AdapterState.REGISTERED for pod in ready)
    reports = [report for pod in ready if (report := _report(pod, wanted)) is not None]
    if failure := next((one.failure for one in reports if one.state is AdapterState.FAILED and one.failure), None):
        found = catalogued(failure)
        return NameState(wanted.name, wanted.kind.value, FAILED, serving, sentence(found), found.reason)
    state = REGISTERED if ready and serving == len(ready) else REGISTERING
    return NameState(wanted.name, wanted.kind.value, state, serving)


def _report(pod: PodFacts, wanted: Registration) -> AdapterStatus | None:
    """What the pod says of this entry; of an earlier entry of the name it may say something else."""
    said = pod.status.adapters if pod.status is not None else ()
    return next((one for one in said if one.of(wanted)), None)
