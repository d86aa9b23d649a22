"""Whether all that a request asks for has an effect."""

from collections.abc import Mapping
from typing import Any

from arriero_runtime.server import within
from arriero_runtime.server.fields import INSTEAD, TAKEN, UNLESS, hints, only


def fault(path: str, request: Mapping[str, Any], honoured: frozenset[str]) -> tuple[str, str] | None:
    """The first parameter of a request that would be without effect, and why. `honoured` are those of UNLESS that this
    engine was started for."""
    taken = TAKEN.get(path)
    if taken is None:
        return None
    idle = only(path)
    for name, value in request.items():
        if name in UNLESS and name in taken:
            nothing, needs = UNLESS[name]
            if name not in honoured and value is not None and value not in nothing:
                return name, f"would have no effect: it needs {needs}"
        elif name not in taken and name not in hints(path) and not _asks_for_nothing(value, idle.get(name, ())):
            return name, _why(path, name)
    return within.fault(path, request, honoured) or _needs_another(request)


def _asks_for_nothing(value: Any, idle: tuple[Any, ...]) -> bool:
    return value is None or within.without_nulls(value) in idle


def _why(path: str, name: str) -> str:
    if instead := INSTEAD.get(path, {}).get(name):
        return f"is not supported and would have no effect; use {instead} in its place"
    return "is not supported with this value and would have no effect" if name in only(path) else "is not known"


def _needs_another(request: Mapping[str, Any]) -> tuple[str, str] | None:
    if request.get("length_penalty") not in (None, 1.0) and not request.get("use_beam_search"):
        return "length_penalty", "has an effect only with 'use_beam_search'"
    return None
