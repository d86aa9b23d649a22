"""The names of status.names and their states: what is served, on its way, leaving, or withheld.

A name leaves in this order: the status says that it is Unregistering, and until when pods accept it all the same; then
it leaves the pods' file; when all ready pods have proven that, it leaves the status.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from arriero_api.contract import NameKind, Registration
from arriero_api.pod import CONTROL_PORT, ENDPOINT_DELAY_SECONDS
from arriero_operator.decide.claims import Loss
from arriero_operator.decide.situation import NameState
from arriero_operator.diagnose.failures import bounded
from arriero_operator.pods import facts
from arriero_operator.revisions.room import Room

REGISTERING = "Registering"
REGISTERED = "Registered"
UNREGISTERING = "Unregistering"
CONFLICT = "Conflict"
FAILED = "Failed"

DELAY: Final = timedelta(seconds=ENDPOINT_DELAY_SECONDS + 2)
"""How long pods accept a name that is not wanted any more; to write the status that tells of it takes up to 2 s."""

_RANKS: Final = (NameKind.MODEL, NameKind.ALIAS)

Names = Sequence[Mapping[str, Any]]
"""status.names."""


def name_states(
    wanted: Sequence[Registration],
    lost: Mapping[str, Loss],
    before: Names,
    ready: int,
    proven: int,
    moment: datetime,
    adapters: Sequence[NameState] = (),
) -> list[NameState]:
    """States of all names.

    `lost` are withheld names with their holder; `before` is status.names as it stands; of `ready` pods `proven` are
    known to serve exactly what the file says. Without a ready pod nothing is Registered. `adapters` are the states of
    those that are asked for.
    """
    by_name = {one.name: one for one in adapters}
    settled = ready > 0 and proven >= ready
    found = []
    kept = {(name["name"], name["kind"]) for name in before if name["state"] == REGISTERED}
    for one in wanted:
        if one.name in lost:
            loss = lost[one.name]
            found.append(NameState(one.name, one.kind.value, CONFLICT, 0, loss.words(one.name), passing=loss.passing))
            continue
        if one.kind is NameKind.ADAPTER and one.name in by_name:
            found.append(by_name[one.name])
            continue
        served = settled or ((one.name, one.kind.value) in kept and ready > 0)
        pods = ready if served else proven
        found.append(NameState(one.name, one.kind.value, REGISTERED if served else REGISTERING, pods))
    if not ready:
        return found
    leaving = _leaving(before, {one.name for one in wanted}, moment)
    return [*found, *(one for one in leaving if one.until or not settled)]


def unreached(states: Iterable[NameState], pods: Sequence[str]) -> list[NameState]:
    """The same; where pods cannot be asked, the names that wait for their proof say so."""
    if not pods:
        return list(states)
    words = (
        f"No answer on port {CONTROL_PORT} of: {', '.join(pods)}. Let the operator reach it (NetworkPolicies); "
        "the pods follow the names all the same."
    )
    return [
        replace(one, message=bounded(words)) if one.state == REGISTERING and not one.message else one for one in states
    ]


def refused_states(
    wanted: Sequence[Registration], lost: Mapping[str, Loss], before: Names, moment: datetime
) -> list[NameState]:
    """States while the spec is not acted on: what was served stays, withheld names are told."""
    kept = [
        NameState(
            name["name"],
            name["kind"],
            name["state"],
            name.get("pods", 0),
            name.get("message", ""),
            until=name.get("until", ""),
        )
        for name in before
        if name["state"] != CONFLICT
    ]
    known = {name.name for name in kept}
    withheld = name_states([one for one in wanted if one.name in lost], lost, (), 0, 0, moment)
    return [*kept, *(one for one in withheld if one.name not in known)]


def served(
    wanted: Sequence[Registration], stored: Iterable[Registration], before: Names, moment: datetime, room: Room
) -> tuple[Registration, ...]:
    """What a revision's file is to say: what is wanted, and names that leave, as the file has them (`stored`).

    Of the adapters as many as pods of the revision have `room` for, wanted ones first, and only those whose Secret the
    pods have. In one order for equal names, the model's own first, so that a name that leaves changes nothing at first.
    """
    asked = {one.name for one in wanted}
    staying = announced(before, moment) - asked
    kept = (replace(one, kind=_leaving_kind(one.kind)) for one in stored)
    found = [one for one in (*wanted, *(one for one in kept if one.name in staying)) if room.knows(one)]
    surplus = [one for one in found if one.kind is NameKind.ADAPTER][room.adapters :]
    found = [one for one in found if one not in surplus]
    return tuple(sorted(found, key=lambda one: (_rank(one.kind), one.name)))


def kept(
    asked: Sequence[Registration], lost: Mapping[str, Loss], stored: Iterable[Registration], before: Names
) -> tuple[Registration, ...]:
    """What is served while the spec is not acted on: what the status names, but for what leaves.

    Each as the pods' files have it (`stored`); where they were lost, as the spec has it (`asked`). Where the status was
    lost, all that the spec has.
    """
    known = {one.name: one for one in (*asked, *stored)}
    found = []
    for name in before:
        if name["state"] in (CONFLICT, UNREGISTERING) or name["name"] in lost:
            continue
        kind = NameKind(name["kind"])
        if name["name"] in known or kind is not NameKind.ADAPTER:
            found.append(replace(known.get(name["name"], Registration(name["name"], kind)), kind=kind))
    return tuple(found) if before else tuple(one for one in asked if one.name not in lost)


def announced(before: Names, moment: datetime) -> set[str]:
    """Names that clients may use by what the status says or has said until a moment ago."""
    return {one["name"] for one in before if one["state"] == REGISTERED or ends(one, moment) is not None}


def ends(name: Mapping[str, Any], moment: datetime) -> datetime | None:
    """When pods may stop to accept a name of the status that leaves; None for others, and when that has passed.

    A time that is too far ahead comes from another clock and counts as passed.
    """
    until = facts.time(name.get("until")) if name["state"] == UNREGISTERING else None
    return until if until is not None and moment < until <= moment + 2 * DELAY else None


def _leaving(before: Names, asked: set[str], moment: datetime) -> list[NameState]:
    """Names that pods may still serve."""
    found = []
    for name in before:
        if name["name"] in asked or name["state"] not in (REGISTERED, UNREGISTERING):
            continue
        until = moment + DELAY if name["state"] == REGISTERED else ends(name, moment)
        text = facts.timestamp(until) if until else ""
        found.append(NameState(name["name"], name["kind"], UNREGISTERING, until=text))
    return found


def _rank(kind: NameKind) -> int:
    return _RANKS.index(kind) if kind in _RANKS else len(_RANKS)


def _leaving_kind(kind: NameKind) -> NameKind:
    """The model's own name that leaves is one of several: the new one comes first."""
    return NameKind.ALIAS if kind is NameKind.MODEL else kind
