"""A spec of a newer CRD than this operator's: what it does not understand is told, and the rest is read."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from arriero_api import uris
from arriero_api.types import InferenceModel, Spec
from arriero_operator.work.result import TerminalError

_REPLICAS: Final = 1000
_URI: Final = 512
"""Bounds of this version: where another has wider ones, the model is kept as it is as far as they reach."""


def read(spec: Mapping[str, Any]) -> tuple[Spec, str]:
    """The typed spec, and what of it this version does not understand, in words: that is left out.

    Raises TerminalError where nothing of use is left.
    """
    try:
        found = InferenceModel.model_validate({"spec": spec}).spec
        return found, _unknown_source(found)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
    words = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in faults)
    try:
        return InferenceModel.model_validate({"spec": _without(spec, faults)}).spec, words
    except ValidationError:
        raise TerminalError(f"{words}: upgrade the operator to the version of the CRD") from None


def _unknown_source(spec: Spec) -> str:
    """Another version may know more kinds of URIs, which the CRD's own rule says."""
    try:
        uris.parse(spec.model.uri)
    except uris.UriError as error:
        return f"spec.model.uri: {error}"
    return ""


def _without(spec: Mapping[str, Any], faults: Iterable[ErrorDetails]) -> dict[str, Any]:
    rest = copy.deepcopy(dict(spec))
    for one in faults:
        _leave_out(rest, one["loc"][1:])
    return rest


def _leave_out(spec: dict[str, Any], path: tuple[int | str, ...]) -> None:
    """The innermost field that has a name; of a list all, as nobody knows what the rest is without it."""
    if path[:1] == ("replicas",) and isinstance(spec.get("replicas"), int):
        spec["replicas"] = max(0, min(_REPLICAS, spec["replicas"]))
        return
    inside: Any = spec
    for here, following in zip(path, (*path[1:], None), strict=True):
        if not isinstance(inside, dict) or here not in inside:
            return
        if path[:2] == ("model", "uri") and here == "uri":
            inside["uri"] = str(inside["uri"])[:_URI]
            return
        if not isinstance(inside[here], dict) or following not in inside[here]:
            del inside[here]
            return
        inside = inside[here]
