"""Settings of vLLM: spec.engine."""

from typing import Annotated, Literal

from pydantic import Field

from arriero_api.schema import Schema, listed_by, matching, ruled
from arriero_api.spec.container import EnvFrom, EnvVar, KeyRef

_Parallel = Annotated[int, Field(ge=1, le=1024)]
_ParserName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=64,
        json_schema_extra=matching(
            "^[a-z0-9][a-z0-9_-]*$", "must be the name of one of vLLM's parsers, such as hermes, or none"
        ),
    ),
]


class ChatTemplate(Schema):
    """A chat template in place of the model's own: exactly one."""

    inline: Annotated[str, Field(min_length=1, max_length=65_536)] | None = Field(
        default=None, description="The Jinja template itself."
    )
    config_map_key_ref: KeyRef | None = Field(
        default=None,
        description="A key of a ConfigMap of the namespace that holds it. Read when a pod starts; a change replaces the pods, or is told, as the chart's changes.references says.",
    )

    model_config = ruled(
        {
            "rule": "has(self.inline) != has(self.configMapKeyRef)",
            "message": "chatTemplate needs exactly one of inline and configMapKeyRef",
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
    tensor_parallel_size: _Parallel | None = Field(
        default=None,
        description=(
            "Over how many accelerators of the pod each layer is split; default: the accelerators of spec.resources.limits divided by "
            "pipelineParallelSize times dataParallelSize."
        ),
    )
    pipeline_parallel_size: _Parallel | None = Field(
        default=None, description="Into how many stages, on accelerators of the pod, the layers are divided."
    )
    data_parallel_size: _Parallel | None = Field(
        default=None,
        description="How many copies of the model one pod runs, each on accelerators of its own. More replicas are usually the better way.",
    )
    quantization: (
        Annotated[
            str,
            Field(
                min_length=1,
                max_length=64,
                json_schema_extra=matching(
                    "^[a-z0-9][a-z0-9_-]*$",
                    "spec.engine.quantization must be the name of one of vLLM's methods, such as fp8, awq or gptq_marlin",
                ),
            ),
        ]
        | None
    ) = Field(default=None, description="How the weights are quantized; default: what the model's configuration says.")
    gpu_memory_utilization: Annotated[float, Field(ge=0.01, le=1)] | None = Field(
        default=None, description="Share of each accelerator's memory that vLLM may take, for example 0.9."
    )
    tool_call_parser: _ParserName | None = Field(
        default=None,
        description="vLLM's parser that finds tool calls in answers; none switches it off; default: chosen by the model.",
    )
    reasoning_parser: _ParserName | None = Field(
        default=None,
        description="vLLM's parser that sets reasoning apart from answers; none switches it off; default: chosen by the model.",
    )
    chat_template: ChatTemplate | None = Field(default=None, description="A chat template in place of the model's own.")
    chat_format: Literal["Template", "LlamaStack"] | None = Field(
        default=None,
        description=(
            "By what the chats of Llama Stack's own routes become prompts: the chat template, or Llama Stack's prompt formats, which "
            "Llama models alone know; default: Template."
        ),
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
    env_from: (
        Annotated[list[EnvFrom], Field(max_length=16, json_schema_extra={"x-kubernetes-list-type": "atomic"})] | None
    ) = Field(
        default=None,
        description=(
            "Secrets and ConfigMaps all of whose keys become environment variables of the runtime container. Added after the "
            "profile's; a variable of env goes first."
        ),
    )
