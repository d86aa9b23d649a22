"""The names of status.names and their states: what is served, on its way, leaving, or withheld."""

from collections.abc import Mapping, Sequence
from typing import Any

from arriero_api.contract import NameKind, Registration
from arriero_operator.decide.situation import NameState

REGISTERING = "Registering"
REGISTERED = "Registered"
UNREGISTERING = "Unregistering"
CONFLICT = "Conflict"
FAILED = "Failed"


def name_states(
    wanted: Sequence[Registration],
    lost: Mapping[str, str],
    before: Sequence[Mapping[str, Any]],
    ready: int,
    proven: int,
    adapters: Sequence[NameState] = (),
) -> list[NameState]:
    """States of all names.

    `lost` are withheld names with their holder; `before` is status.names as it stands; of `ready` pods `proven` are
    known to serve exactly the names that are not withheld. Without a ready pod nothing is Registered. `adapters` are
    the states of those that are asked for.
    """
    by_name = {one.name: one for one in adapters}
    settled = ready > 0 and proven >= ready
    found = []
    kept = {name["name"] for name in before if name["state"] == REGISTERED}
    for one in wanted:
        if one.name in lost:
            words = f"{one.name!r} is served by the model {lost[one.name]!r} of this namespace."
            found.append(NameState(one.name, one.kind.value, CONFLICT, 0, words))
            continue
        if one.kind is NameKind.ADAPTER and one.name in by_name:
            found.append(by_name[one.name])
            continue
        served = settled or (one.name in kept and ready > 0)
        pods = ready if served else proven
        found.append(NameState(one.name, one.kind.value, REGISTERED if served else REGISTERING, pods))
    if settled or not ready:
        return found
    return [*found, *_leaving(before, {one.name for one in wanted})]


def refused_states(
    wanted: Sequence[Registration], lost: Mapping[str, str], before: Sequence[Mapping[str, Any]]
) -> list[NameState]:
    """States while the spec is not acted on: what was served stays, withheld names are told."""
    kept = [
        NameState(name["name"], name["kind"], name["state"], name.get("pods", 0), name.get("message", ""))
        for name in before
        if name["state"] != CONFLICT
    ]
    known = {name.name for name in kept}
    withheld = name_states([one for one in wanted if one.name in lost], lost, (), 0, 0)
    return [*kept, *(one for one in withheld if one.name not in known)]


def leaving(wanted: Sequence[Registration], before: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names that status still calls Registered and the spec does not ask for any more."""
    asked = {one.name for one in wanted}
    return [name["name"] for name in before if name["state"] == REGISTERED and name["name"] not in asked]


def _leaving(before: Sequence[Mapping[str, Any]], asked: set[str]) -> list[NameState]:
    """Names that pods may still serve."""
    return [
        NameState(name["name"], name["kind"], UNREGISTERING)
        for name in before
        if name["name"] not in asked and name["state"] in (REGISTERED, UNREGISTERING)
    ]
