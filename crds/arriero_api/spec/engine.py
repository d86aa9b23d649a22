"""Settings of vLLM: spec.engine."""

from typing import Annotated, Literal

from pydantic import Field

from arriero_api.schema import Schema, listed_by
from arriero_api.spec.container import EnvVar


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
