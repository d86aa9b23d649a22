"""Which container of a pod speaks for it, by the pod's status. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from arriero_api import pod

Json = dict[str, Any]

_QUIET: Final = ("", "ContainerCreating", "PodInitializing")
"""Reasons of a waiting container that nothing is wrong with yet."""


def runtime(status: Mapping[str, Any]) -> Json:
    """What is said of the runtime's container; empty while nothing is."""
    found = (one for one in status.get("containerStatuses") or () if one["name"] == pod.CONTAINER)
    return next(found, {})


def in_the_way(status: Mapping[str, Any]) -> Json | None:
    """The container that keeps the runtime from starting, or the pod from being ready; None: the runtime itself.

    An init container that fails, which nothing starts without; then one beside a runtime that is ready.
    """
    suspects: list[Json] = list(status.get("initContainerStatuses") or ())
    if runtime(status).get("ready"):
        suspects += [one for one in status.get("containerStatuses") or () if one["name"] != pod.CONTAINER]
    return next((one for one in suspects if not one.get("ready") and _fails(one)), None)


def _fails(one: Json) -> bool:
    state, last = one.get("state") or {}, one.get("lastState") or {}
    if "waiting" in state:
        return state["waiting"].get("reason", "") not in _QUIET or _failed(last)
    if "terminated" in state:
        return _failed(state)
    return _failed(last)


def _failed(state: Json) -> bool:
    return bool(state.get("terminated")) and int(state["terminated"].get("exitCode", 0)) != 0
