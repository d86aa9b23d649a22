"""The typed InferenceModel, v1alpha1. The CRD is generated from it; docstrings are what `kubectl explain` prints.

Defaults stand in the schema only for what the operator decides (replicas, drain, Service, class). Engine, resources, image, cache and
shared memory have none: precedence is spec, then profile, then the engine's own choice.
"""

from typing import Annotated, Final

from pydantic import Field

from arriero_api.labels import DEFAULT_CLASS
from arriero_api.schema import Quantity, Schema, matching, ruled, rules
from arriero_api.spec.cache import Cache, ClaimTemplate, EmptyDirCache
from arriero_api.spec.container import EnvFrom, EnvVar, EnvVarSource, KeySelector, Resources
from arriero_api.spec.engine import ChatTemplate, Engine
from arriero_api.spec.lora import Adapter, Lora
from arriero_api.spec.model import Model
from arriero_api.spec.podtemplate import PodTemplate
from arriero_api.spec.rollout import Rollout
from arriero_api.spec.service import Service
from arriero_api.spec.serving import Serving
from arriero_api.status import Status

__all__ = [
    "Adapter",
    "Cache",
    "ChatTemplate",
    "ClaimTemplate",
    "EmptyDirCache",
    "Engine",
    "EnvFrom",
    "EnvVar",
    "EnvVarSource",
    "InferenceModel",
    "KeySelector",
    "Lora",
    "Model",
    "PodTemplate",
    "Resources",
    "Rollout",
    "Service",
    "Serving",
    "Spec",
]

_NO_ADAPTERS: Final = "!has(self.spec.lora) || !has(self.spec.lora.adapters)"

_SIZES: Final = " * ".join(
    f"(has(self.engine.{size}) ? self.engine.{size} : 1)"
    for size in ("tensorParallelSize", "pipelineParallelSize", "dataParallelSize")
)
_GPUS: Final = "quantity(string(self.resources.limits['nvidia.com/gpu']))"
_PARALLEL: Final = (
    "!has(self.engine) || !has(self.resources) || !has(self.resources.limits) || "
    "!('nvidia.com/gpu' in self.resources.limits) || "
    f"!{_GPUS}.isInteger() || {_GPUS}.asInteger() >= {_SIZES}"
)
"""Of the most common accelerator; the operator checks all, also those of the profile."""


class Spec(Schema):
    """The wanted state of a served model."""

    model: Model = Field(description="What is served, and under which names.")
    replicas: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=1, description="How many pods serve the model; 0 is allowed."
    )
    profile: (
        Annotated[
            str,
            Field(
                min_length=1,
                max_length=63,
                json_schema_extra=matching(
                    "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$",
                    "spec.profile must be the name of a profile: lower-case letters, digits and - only",
                ),
            ),
        ]
        | None
    ) = Field(
        default=None,
        description="Profile of the chart that says how pods for a kind of hardware look; default: the chart's defaultProfile.",
    )
    image: (
        Annotated[
            str,
            Field(
                min_length=1,
                max_length=512,
                json_schema_extra=matching(r"^\S+$", "spec.image must be an image reference without spaces"),
            ),
        ]
        | None
    ) = Field(default=None, description="Runtime image; default: the profile's.")
    resources: Resources | None = Field(
        default=None, description="Compute resources of one pod; default: the profile's."
    )
    engine: Engine | None = Field(
        default=None, description="Settings of vLLM; default: the profile's, then vLLM's own."
    )
    cache: Cache | None = Field(
        default=None, description="Where fetched models are kept; default: an emptyDir without a limit."
    )
    shared_memory: Quantity | None = Field(default=None, description="Size of /dev/shm; default: the profile's.")
    lora: Lora | None = Field(
        default=None, description="LoRA adapters of the model; default: none, and the pods have no room for any."
    )
    serving: Serving = Field(default_factory=Serving, description="How requests are treated.")
    rollout: Rollout = Field(
        default_factory=Rollout, description="How pods of a changed model replace the older ones. Restarts nothing."
    )
    service: Service = Field(
        default_factory=Service, description="The Service that clients in the cluster reach the model by."
    )
    pod_template: PodTemplate | None = Field(
        default=None,
        description="What a pod has beyond the other fields: part of a core PodTemplateSpec, laid over the pods that Arriero makes.",
    )
    operator_class: Annotated[
        str,
        Field(
            min_length=1,
            max_length=63,
            json_schema_extra=rules(
                {
                    "rule": "self.matches(r'^[a-z0-9]([a-z0-9-]*[a-z0-9])?$')",
                    "message": "spec.operatorClass must be the class of an install: lower-case letters, digits and - only",
                },
                {
                    "rule": "self == oldSelf",
                    "message": "spec.operatorClass cannot be changed: delete the model and create it anew",
                },
            ),
        ),
    ] = Field(
        default=DEFAULT_CLASS,
        description="Which install of Arriero serves the model, where several share a cluster: the chart's operatorClass.",
    )
    paused: bool = Field(
        default=False, description="Change nothing of this model but its status. Pods that run go on serving."
    )

    model_config = ruled(
        {
            "rule": _PARALLEL,
            "message": (
                "spec.engine.tensorParallelSize times pipelineParallelSize times dataParallelSize is more than nvidia.com/gpu of "
                "spec.resources.limits: raise those or lower the sizes"
            ),
        }
    )


class InferenceModel(Schema):
    """A language model that Arriero serves with vLLM: one Service, as many pods as wanted."""

    spec: Spec
    status: Status | None = None

    model_config = ruled(
        {
            "rule": f"{_NO_ADAPTERS} || self.spec.lora.adapters.all(a, a.name != "
            "(has(self.spec.model.name) ? self.spec.model.name : self.metadata.name) "
            "&& !(has(self.spec.model.aliases) && a.name in self.spec.model.aliases))",
            "message": "an adapter of spec.lora.adapters has the model's own name or an alias: give it another name",
        },
        {
            "rule": f"{_NO_ADAPTERS} || self.spec.lora.adapters.all(a, !a.uri.startsWith('pvc://') || "
            "(self.spec.model.uri.startsWith('pvc://') && a.uri.split('/')[2] == self.spec.model.uri.split('/')[2]))",
            "message": "a pvc:// adapter must be on the claim of spec.model.uri: put it there, or use hf://",
        },
    )
