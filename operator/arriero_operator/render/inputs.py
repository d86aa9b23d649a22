"""What a pod is made of: the spec's fields that reach it, laid over the profile's.

Precedence is spec, then profile, then the engine's own choice. Replicas, names and the profile's image are no inputs:
they change without new pods.
"""

import hashlib
import json
from dataclasses import Field, dataclass, field, fields
from typing import Any, Final, TypeVar

from arriero_api.types import Engine, EnvVar, Resources, Spec
from arriero_operator.settings import Profile

HUB_VARIABLE: Final = "HF_ENDPOINT"

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Inputs:
    """Inputs of one revision, all as plain JSON values.

    `default_image` is the profile's; it is used where `image`, the spec's, is empty, and is not part of the hash.
    `lora` is the pods' room for adapters (maxRank, maxActive, maxLoaded), empty for none; the list itself is live.
    """

    uri: str
    source_revision: str
    image: str
    default_image: str
    image_pull_policy: str
    limits: dict[str, str]
    requests: dict[str, str]
    max_model_len: int | None
    dtype: str | None
    enforce_eager: bool | None
    max_num_seqs: int | None
    args: list[str]
    env: list[dict[str, Any]]
    cache_size: str
    shared_memory: str
    request_timeout_seconds: int
    drain_seconds: int
    node_selector: dict[str, str] = field(default_factory=dict)
    tolerations: list[dict[str, Any]] = field(default_factory=list)
    runtime_class_name: str = ""
    lora: dict[str, int] = field(default_factory=dict)

    @property
    def hash(self) -> str:
        """10 hex digits that name the revision: equal inputs give the same, whatever the profile's image is.

        What says nothing (empty, or the field's default) is left out: a newer operator with more fields gives the
        same hash to a spec that does not use them, so that its installation replaces no pod.
        """
        hashed = [one for one in fields(self) if one.name != "default_image"]
        said = {one.name: value for one in hashed if _says(one, value := getattr(self, one.name))}
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:10]

    @property
    def accelerators(self) -> dict[str, str]:
        """Extended resources of one pod, such as {"nvidia.com/gpu": "1"}."""
        return {name: amount for name, amount in self.limits.items() if "/" in name}


def pod_inputs(spec: Spec, profile: Profile, hub_endpoint: str = "") -> Inputs:
    """Lay `spec` over `profile`; `hub_endpoint` is empty for the public hub."""
    engine, base = spec.engine or Engine(), profile.engine
    limits, requests = _resources(spec.resources or Resources(), profile.resources)
    cache = spec.cache.empty_dir.size_limit if spec.cache else None
    serving = spec.serving
    drain = serving.drain_seconds
    return Inputs(
        uri=spec.model.uri,
        source_revision=spec.model.revision or "",
        image=spec.image or "",
        default_image=profile.image,
        image_pull_policy=profile.image_pull_policy,
        limits=limits,
        requests=requests,
        max_model_len=_first(engine.max_model_len, base.max_model_len),
        dtype=_first(engine.dtype, base.dtype),
        enforce_eager=_first(engine.enforce_eager, base.enforce_eager),
        max_num_seqs=_first(engine.max_num_seqs, base.max_num_seqs),
        args=[*(base.args or ()), *(engine.args or ())],
        env=_environment(hub_endpoint, base.env or [], engine.env or []),
        cache_size="" if cache is None else str(cache),
        shared_memory=str(_first(spec.shared_memory, profile.shared_memory)),
        request_timeout_seconds=serving.request_timeout_seconds,
        drain_seconds=serving.request_timeout_seconds if drain is None else drain,
        node_selector=dict(profile.node_selector),
        tolerations=[dict(toleration) for toleration in profile.tolerations],
        runtime_class_name=profile.runtime_class_name,
        lora=_capacity(spec),
    )


def _capacity(spec: Spec) -> dict[str, int]:
    return spec.lora.model_dump(by_alias=True, exclude={"adapters"}) if spec.lora else {}


def _says(one: Field[Any], value: Any) -> bool:
    return value not in (None, "", [], {}, one.default)


def _first(*choices: _T | None) -> _T | None:
    return next((choice for choice in choices if choice is not None), None)


def _resources(wanted: Resources, base: Resources) -> tuple[dict[str, str], dict[str, str]]:
    """Limits and requests. A limit of the spec takes the profile's request of that name with it: requests follow."""
    limits = {**_amounts(base.limits), **_amounts(wanted.limits)}
    inherited = {name: n for name, n in _amounts(base.requests).items() if name not in (wanted.limits or {})}
    return limits, {**inherited, **_amounts(wanted.requests)}


def _amounts(quantities: dict[str, int | str] | None) -> dict[str, str]:
    return {name: str(amount) for name, amount in (quantities or {}).items()}


def _environment(hub_endpoint: str, *layers: list[EnvVar]) -> list[dict[str, Any]]:
    """Variables merged by name, later layers first in precedence, in a stable order."""
    merged: dict[str, dict[str, Any]] = {}
    if hub_endpoint:
        merged[HUB_VARIABLE] = {"name": HUB_VARIABLE, "value": hub_endpoint}
    for layer in layers:
        for variable in layer:
            merged[variable.name] = variable.model_dump(by_alias=True, exclude_none=True)
    return list(merged.values())
