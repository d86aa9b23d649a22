"""The typed InferenceModel, v1alpha1. The CRD is generated from it; docstrings are what `kubectl explain` prints.

Defaults stand in the schema only for what the operator decides (replicas, drain). Engine, resources, image, cache and
shared memory have none: precedence is spec, then profile, then the engine's own choice.
"""

from typing import Annotated, Final, Literal

from pydantic import Field

from arriero_api.schema import Quantity, Schema, ServedName, listed_by, matching, ruled, rules
from arriero_api.status import Status
from arriero_api.uris import PATTERN

_NO_ADAPTERS: Final = "!has(self.spec.lora) || !has(self.spec.lora.adapters)"


class Model(Schema):
    """What is served, and under which names."""

    uri: Annotated[str, Field(min_length=1, max_length=512)] = Field(
        description=(
            "Where the model comes from: hf://ORG/NAME (a repository of the Hugging Face hub or of the hub that the "
            "chart names), pvc://CLAIM/PATH (a folder on a PersistentVolumeClaim of the namespace) or file:///PATH (a "
            "folder of the image). Changing it rolls out new pods."
        ),
        json_schema_extra=rules(
            {
                "rule": f"self.matches(r'{PATTERN}')",
                "message": "spec.model.uri must be hf://ORG/NAME, pvc://CLAIM/PATH or file:///PATH",
            },
            {
                "rule": "!self.contains('/../') && !self.endsWith('/..')",
                "message": "spec.model.uri must not leave its volume: remove '..'",
            },
        ),
    )
    revision: (
        Annotated[
            str,
            Field(
                min_length=1,
                max_length=256,
                json_schema_extra=matching(
                    "^[A-Za-z0-9_][A-Za-z0-9._/-]*$",
                    "spec.model.revision must be a branch, tag or commit: letters, digits and . _ / - only, not . / - first",
                ),
            ),
        ]
        | None
    ) = Field(
        default=None,
        description=(
            "Branch, tag or commit of an hf:// repository; default: its main branch. All pods of a revision serve the "
            "commit that the first one resolved."
        ),
    )
    name: ServedName | None = Field(
        default=None,
        description="Name that clients put into 'model'; default: metadata.name. Changed without a restart.",
    )
    aliases: (
        Annotated[list[ServedName], Field(max_length=32, json_schema_extra={"x-kubernetes-list-type": "set"})] | None
    ) = Field(default=None, description="Further names that clients may use. Changed without a restart.")

    model_config = ruled(
        {
            "rule": "!has(self.revision) || self.uri.startsWith('hf://')",
            "message": "spec.model.revision is for hf:// models only: remove it, or put the revision into the path",
        }
    )


class Resources(Schema):
    """Compute resources of one pod, as in a container. Each limit or request here overrides the profile's of that name."""

    limits: Annotated[dict[str, Quantity], Field(max_length=16)] | None = Field(
        default=None,
        description='The most one pod may use, for example {"nvidia.com/gpu": 1, "memory": "24Gi"}.',
    )
    requests: Annotated[dict[str, Quantity], Field(max_length=16)] | None = Field(
        default=None, description="What the scheduler sets aside for one pod; default: the limits."
    )


class KeySelector(Schema):
    """A key of a Secret or ConfigMap of the namespace."""

    name: Annotated[str, Field(min_length=1, max_length=253)] = Field(description="Name of the object.")
    key: Annotated[str, Field(min_length=1, max_length=253)] = Field(description="Key in its data.")
    optional: bool | None = Field(default=None, description="Start the container although the key is absent.")


class EnvVarSource(Schema):
    """Where the value of an environment variable comes from: exactly one."""

    secret_key_ref: KeySelector | None = Field(default=None, description="A key of a Secret of the namespace.")
    config_map_key_ref: KeySelector | None = Field(default=None, description="A key of a ConfigMap of the namespace.")

    model_config = ruled(
        {
            "rule": "has(self.secretKeyRef) != has(self.configMapKeyRef)",
            "message": "valueFrom needs exactly one of secretKeyRef and configMapKeyRef",
        }
    )


class EnvVar(Schema):
    """An environment variable of the runtime container."""

    name: Annotated[
        str,
        Field(
            min_length=1,
            max_length=128,
            json_schema_extra=matching(
                "^[A-Za-z_][A-Za-z0-9_]*$",
                "the name of an environment variable has letters, digits and _ only, and does not begin with a digit",
            ),
        ),
    ] = Field(description="Name of the variable.")
    value: Annotated[str, Field(max_length=4096)] | None = Field(default=None, description="Its value.")
    value_from: EnvVarSource | None = Field(default=None, description="Where its value comes from, instead of 'value'.")

    model_config = ruled(
        {
            "rule": "!(has(self.value) && has(self.valueFrom))",
            "message": "an environment variable has either value or valueFrom, not both: remove one",
        }
    )


class Engine(Schema):
    """Settings of vLLM. What is absent comes from the profile, then from vLLM's own choice for the hardware."""

    max_model_len: Annotated[int, Field(ge=1, le=16_777_216)] | None = Field(
        default=None, description="Longest context in tokens, prompt and answer together."
    )
    dtype: Literal["auto", "bfloat16", "float16", "float32"] | None = Field(
        default=None, description="Number format of weights and activations."
    )
    enforce_eager: bool | None = Field(
        default=None, description="Do not compile the model: a quicker start, slower answers."
    )
    max_num_seqs: Annotated[int, Field(ge=1, le=65_536)] | None = Field(
        default=None, description="Most requests that the engine handles at once; others wait."
    )
    args: (
        Annotated[
            list[Annotated[str, Field(min_length=1, max_length=4096)]],
            Field(max_length=64, json_schema_extra={"x-kubernetes-list-type": "atomic"}),
        ]
        | None
    ) = Field(
        default=None,
        description=(
            "Any other vLLM flag, for example ['--kv-cache-dtype=fp8']. Added after the profile's. Flags that Arriero sets itself are "
            "refused with the field to use instead."
        ),
    )
    env: Annotated[list[EnvVar], Field(max_length=64, json_schema_extra=listed_by("name"))] | None = Field(
        default=None,
        description="Environment variables of the runtime container; the same name overrides the profile's.",
    )


class EmptyDirCache(Schema):
    """A cache that lives as long as the pod, on the node's ephemeral storage."""

    size_limit: Quantity | None = Field(default=None, description="The most it may hold; default: no limit.")


class Cache(Schema):
    """Where fetched models and compile caches are kept."""

    empty_dir: EmptyDirCache = Field(
        description="A cache that lives as long as the pod, on the node's ephemeral storage."
    )


class Serving(Schema):
    """How requests are treated."""

    request_timeout_seconds: Annotated[int, Field(ge=1, le=86_400)] = Field(
        default=300, description="The longest that one request may take; then it is ended with an error."
    )
    drain_seconds: Annotated[int, Field(ge=0, le=86_400)] | None = Field(
        default=None,
        description=(
            "How long a stopping pod lets its requests go on; default: requestTimeoutSeconds, so that none is lost. Less would "
            "abort requests that are still within their time, and is refused."
        ),
    )

    model_config = ruled(
        {
            "rule": "!has(self.drainSeconds) || self.drainSeconds >= self.requestTimeoutSeconds",
            "message": "spec.serving.drainSeconds is less than requestTimeoutSeconds: requests would be lost when a pod stops. Raise it or lower requestTimeoutSeconds",
        }
    )


class Adapter(Schema):
    """A LoRA adapter that the pods serve under a name of its own, beside the model."""

    name: ServedName = Field(description="Name that clients put into 'model'.")
    uri: Annotated[str, Field(min_length=1, max_length=512)] = Field(
        description=(
            "Where the adapter comes from: hf://ORG/NAME, pvc://CLAIM/PATH on the model's own claim, or file:///PATH of the "
            "image. It has PEFT's form: adapter_config.json and adapter_model.safetensors."
        ),
        json_schema_extra=rules(
            {
                "rule": f"self.matches(r'{PATTERN}')",
                "message": "an adapter's uri must be hf://ORG/NAME, pvc://CLAIM/PATH or file:///PATH",
            },
            {
                "rule": "!self.contains('/../') && !self.endsWith('/..')",
                "message": "an adapter's uri must not leave its volume: remove '..'",
            },
        ),
    )
    revision: (
        Annotated[
            str,
            Field(
                min_length=1,
                max_length=256,
                json_schema_extra=matching(
                    "^[A-Za-z0-9_][A-Za-z0-9._/-]*$",
                    "an adapter's revision must be a branch, tag or commit: letters, digits and . _ / - only, not . / - first",
                ),
            ),
        ]
        | None
    ) = Field(
        default=None,
        description=(
            "Branch, tag or commit of an hf:// repository; default: its main branch. Each pod resolves a branch or tag when it "
            "loads the adapter: name a commit where all pods must serve the same."
        ),
    )

    model_config = ruled(
        {
            "rule": "!has(self.revision) || self.uri.startsWith('hf://')",
            "message": "an adapter's revision is for hf:// only: remove it, or put the revision into the path",
        }
    )


class Lora(Schema):
    """LoRA adapters. What the pods have room for is part of their revision; the list changes without a restart."""

    max_rank: Literal[8, 16, 32, 64, 128, 256, 320, 512] = Field(
        default=16, description="Highest rank of an adapter. Changing it rolls out new pods."
    )
    max_active: Annotated[int, Field(ge=1, le=64)] = Field(
        default=4,
        description=(
            "How many adapters may be asked at once in one pod; requests to others wait. Each takes accelerator memory. Changing "
            "it rolls out new pods."
        ),
    )
    max_loaded: Annotated[int, Field(ge=1, le=64)] = Field(
        default=16,
        description=(
            "How many adapters one pod holds ready in main memory, and the most that may be listed. Changing it rolls out new pods."
        ),
    )
    adapters: Annotated[list[Adapter], Field(max_length=64, json_schema_extra=listed_by("name"))] | None = Field(
        default=None, description="The adapters to serve. Changed without a restart."
    )

    model_config = ruled(
        {
            "rule": "self.maxActive <= self.maxLoaded",
            "message": "spec.lora.maxActive is more than maxLoaded: raise maxLoaded or lower maxActive",
        },
        {
            "rule": "!has(self.adapters) || self.adapters.size() <= self.maxLoaded",
            "message": "spec.lora.adapters has more than maxLoaded entries: raise spec.lora.maxLoaded, which replaces the pods",
        },
    )


class Rollout(Schema):
    """How pods of a changed model replace the older ones."""

    strategy: Literal["Auto", "Surge", "Replace"] = Field(
        default="Auto",
        description=(
            "Surge starts each new pod beside the old ones and waits for room. Replace takes an old pod down first. Auto surges, and "
            "replaces where the new pod waits for what an old one holds: accelerators, other resources, a quota, a volume."
        ),
    )
    surge_wait_seconds: Annotated[int, Field(ge=0, le=86_400)] = Field(
        default=30, description="How long Auto lets a new pod wait for room before an old one is taken down for it."
    )
    surge_wait_max_seconds: Annotated[int, Field(ge=0, le=86_400)] = Field(
        default=900,
        description=(
            "The same while the new pod has a nominated node: by an autoscaler that brings one, or by the scheduler that frees one."
        ),
    )

    progress_deadline_seconds: Annotated[int, Field(ge=30, le=604_800)] = Field(
        default=1800,
        description=(
            "For how long a new revision may make no progress (placing, pulling, fetching, loading) before it is given up."
        ),
    )
    rollback: bool = Field(
        default=True,
        description=(
            "Go back to the last good revision when the new one is given up, or fails for a cause that trying again cannot mend."
        ),
    )

    model_config = ruled(
        {
            "rule": "self.surgeWaitMaxSeconds >= self.surgeWaitSeconds",
            "message": "spec.rollout.surgeWaitMaxSeconds is less than surgeWaitSeconds: raise it or lower surgeWaitSeconds",
        }
    )


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
    paused: bool = Field(
        default=False, description="Change nothing of this model but its status. Pods that run go on serving."
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
