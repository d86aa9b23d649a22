"""What a pod is made of: the spec's fields that reach it, laid over the profile's.

Precedence is spec, then profile, then the engine's own choice. Replicas, names and the profile's image are no inputs:
they change without new pods.
"""

import hashlib
import json
from dataclasses import Field, dataclass, field, fields
from functools import cached_property
from typing import Any

from arriero_api import pod
from arriero_api.types import Engine, Resources, Spec
from arriero_operator.configuration.settings import Profile
from arriero_operator.render import layers
from arriero_operator.render.layers import first


@dataclass(frozen=True)
class Inputs:
    """Inputs of one revision, all as plain JSON values.

    `default_image` is the profile's; it is used where `image`, the spec's, is empty, and is not part of the hash.
    `lora` is the pods' room for adapters (maxRank, maxActive, maxLoaded), empty for none; the list itself is live.
    `chat_template` and `api_key` are as in the spec, empty for none. `cache_claim` is a claim that is there,
    `own_cache_claim` one that the operator makes. `image_pull_secrets` are names.
    `credentials` and `adapter_credentials` are names of Secrets: the model's, and those of its adapters.
    `pod_templates` are laid over the pod one after the other. `changed` and `rolled_image` tell revisions apart that
    ask for the same: see `arriero_operator.revisions.lineage`.
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
    tensor_parallel_size: int | None = None
    pipeline_parallel_size: int | None = None
    data_parallel_size: int | None = None
    quantization: str | None = None
    gpu_memory_utilization: float | None = None
    tool_call_parser: str = ""
    reasoning_parser: str = ""
    chat_template: dict[str, Any] = field(default_factory=dict)
    chat_format: str = pod.CHAT_FORMATS[0]
    env_from: list[dict[str, Any]] = field(default_factory=list)
    trust_remote_code: bool = False
    max_tokens: int | None = None
    api_key: dict[str, str] = field(default_factory=dict)
    cache_claim: str = ""
    own_cache_claim: bool = False
    affinity: dict[str, Any] = field(default_factory=dict)
    topology_spread_constraints: list[dict[str, Any]] = field(default_factory=list)
    priority_class_name: str = ""
    image_pull_secrets: list[str] = field(default_factory=list)
    pod_templates: list[dict[str, Any]] = field(default_factory=list)
    credentials: str = ""
    adapter_credentials: list[str] = field(default_factory=list)
    changed: str = ""
    rolled_image: str = ""

    @cached_property
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
    limits, requests = layers.resources(spec.resources or Resources(), profile.resources)
    cache_size, cache_claim, own_claim = layers.cache(spec.cache)
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
        max_model_len=first(engine.max_model_len, base.max_model_len),
        dtype=first(engine.dtype, base.dtype),
        enforce_eager=first(engine.enforce_eager, base.enforce_eager),
        max_num_seqs=first(engine.max_num_seqs, base.max_num_seqs),
        args=[*(base.args or ()), *(engine.args or ())],
        env=layers.environment(hub_endpoint, base.env, engine.env),
        cache_size=cache_size,
        shared_memory=str(first(spec.shared_memory, profile.shared_memory)),
        request_timeout_seconds=serving.request_timeout_seconds,
        drain_seconds=serving.request_timeout_seconds if drain is None else drain,
        node_selector=dict(profile.node_selector),
        tolerations=[dict(toleration) for toleration in profile.tolerations],
        runtime_class_name=profile.runtime_class_name,
        lora=_capacity(spec),
        tensor_parallel_size=first(engine.tensor_parallel_size, base.tensor_parallel_size),
        pipeline_parallel_size=first(engine.pipeline_parallel_size, base.pipeline_parallel_size),
        data_parallel_size=first(engine.data_parallel_size, base.data_parallel_size),
        quantization=first(engine.quantization, base.quantization),
        gpu_memory_utilization=first(engine.gpu_memory_utilization, base.gpu_memory_utilization),
        tool_call_parser=first(engine.tool_call_parser, base.tool_call_parser) or "",
        reasoning_parser=first(engine.reasoning_parser, base.reasoning_parser) or "",
        chat_template=layers.chat_template(engine.chat_template, base.chat_template),
        chat_format=first(engine.chat_format, base.chat_format) or pod.CHAT_FORMATS[0],
        env_from=layers.sources(base.env_from, engine.env_from),
        trust_remote_code=bool(spec.model.trust_remote_code),
        max_tokens=serving.max_tokens,
        api_key=serving.api_key.secret_key_ref.model_dump(by_alias=True) if serving.api_key else {},
        cache_claim=cache_claim,
        own_cache_claim=own_claim,
        affinity=dict(profile.affinity),
        topology_spread_constraints=[dict(one) for one in profile.topology_spread_constraints],
        priority_class_name=profile.priority_class_name,
        image_pull_secrets=list(profile.image_pull_secrets),
        credentials=spec.model.credentials.secret_name if spec.model.credentials else "",
        adapter_credentials=layers.adapter_secrets(spec.model, spec.lora),
        pod_templates=layers.pod_templates(profile.pod_template, spec.pod_template),
    )


def _capacity(spec: Spec) -> dict[str, int]:
    return spec.lora.model_dump(by_alias=True, exclude={"adapters"}) if spec.lora else {}


def _says(one: Field[Any], value: Any) -> bool:
    return value not in (None, "", [], {}, one.default)
