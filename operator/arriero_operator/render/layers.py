"""How the spec is laid over the profile, part by part. Values are plain JSON."""

from typing import Any, Final, TypeVar

from arriero_api.types import Cache, ChatTemplate, EnvFrom, EnvVar, Lora, Model, PodTemplate, Resources

HUB_VARIABLE: Final = "HF_ENDPOINT"

_T = TypeVar("_T")


def first(*choices: _T | None) -> _T | None:
    """The first that is not None."""
    return next((choice for choice in choices if choice is not None), None)


def resources(wanted: Resources, base: Resources) -> tuple[dict[str, str], dict[str, str]]:
    """Limits and requests. A limit of the spec takes the profile's request of that name with it: requests follow."""
    limits = {**_amounts(base.limits), **_amounts(wanted.limits)}
    inherited = {name: n for name, n in _amounts(base.requests).items() if name not in (wanted.limits or {})}
    return limits, {**inherited, **_amounts(wanted.requests)}


def environment(hub_endpoint: str, *layers: list[EnvVar] | None) -> list[dict[str, Any]]:
    """Variables merged by name, later layers first in precedence, in a stable order."""
    merged: dict[str, dict[str, Any]] = {}
    if hub_endpoint:
        merged[HUB_VARIABLE] = {"name": HUB_VARIABLE, "value": hub_endpoint}
    for layer in layers:
        for variable in layer or ():
            merged[variable.name] = variable.model_dump(by_alias=True, exclude_none=True)
    return list(merged.values())


def sources(*layers: list[EnvFrom] | None) -> list[dict[str, Any]]:
    """All of envFrom; Kubernetes lets the last one win where two have the same key."""
    return [one.model_dump(by_alias=True, exclude_none=True) for layer in layers for one in layer or ()]


def chat_template(*choices: ChatTemplate | None) -> dict[str, Any]:
    """The first that is there; empty for the model's own."""
    found = first(*choices)
    return found.model_dump(by_alias=True, exclude_none=True) if found else {}


def cache(wanted: Cache | None) -> tuple[str, str, bool]:
    """Of the cache volume: the limit of an emptyDir, the claim that is there, whether the operator makes a claim."""
    if wanted is None:
        return "", "", False
    limit = wanted.empty_dir.size_limit if wanted.empty_dir else None
    claim = wanted.persistent_volume_claim.claim_name if wanted.persistent_volume_claim else ""
    return "" if limit is None else str(limit), claim, wanted.claim_template is not None


def adapter_secrets(model: Model, lora: Lora | None) -> list[str]:
    """Names of Secrets that adapters need beside the model's own, in a stable order."""
    own = model.credentials.secret_name if model.credentials else ""
    listed = (lora.adapters or ()) if lora else ()
    return sorted({one.credentials.secret_name for one in listed if one.credentials} - {own})


def pod_templates(*layers: PodTemplate | None) -> list[dict[str, Any]]:
    """What each layer lays over the pods; a null, which takes a field away, is kept."""
    found = (plain(layer) for layer in layers if layer is not None)
    return [{part: value for part, value in one.items() if value} for one in found if any(one.values())]


def plain(template: PodTemplate) -> dict[str, Any]:
    """As it was written. Its spec, which may be of any shape and depth, is not gone through."""
    metadata = template.metadata
    written = metadata.model_dump(by_alias=True, exclude_unset=True) if metadata is not None else None
    return {"metadata": written, "spec": template.spec}


def _amounts(quantities: dict[str, int | str] | None) -> dict[str, str]:
    return {name: str(amount) for name, amount in (quantities or {}).items()}
