"""LoRA adapters: spec.lora."""

from typing import Annotated, Literal

from pydantic import Field

from arriero_api.schema import Schema, ServedName, listed_by, matching, ruled
from arriero_api.spec.credentials import FETCHED_RULE, HUB_RULE, Credentials, source


class Adapter(Schema):
    """A LoRA adapter that the pods serve under a name of its own, beside the model."""

    name: ServedName = Field(description="Name that clients put into 'model'.")
    uri: Annotated[str, Field(min_length=1, max_length=512)] = Field(
        description=(
            "Where the adapter comes from: hf://ORG/NAME, s3://BUCKET/PATH, gs://BUCKET/PATH, az://CONTAINER/PATH, "
            "https://HOST/PATH, pvc://CLAIM/PATH on the model's own claim, or file:///PATH of the image. It has PEFT's form: "
            "adapter_config.json and adapter_model.safetensors."
        ),
        json_schema_extra=source(
            "an adapter's uri",
            {
                "rule": "!self.startsWith('oci://')",
                "message": "an adapter's uri cannot be oci://: only a model is mounted as an image; use hf, s3, gs, az or https",
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
            "Branch, tag or commit of an hf:// repository; default: its main branch. All pods of the model serve the commit "
            "that the first one resolved, until the entry changes."
        ),
    )
    credentials: Credentials | None = Field(
        default=None,
        description=(
            "As whom the source is asked: hf, s3, gs, az and https; default: as nobody. A Secret that the pods do not have yet "
            "rolls out new pods."
        ),
    )

    model_config = ruled(
        {
            "rule": f"!has(self.revision) || {HUB_RULE}",
            "message": "an adapter's revision is for hf:// only: remove it, or put the revision into the path",
        },
        {
            "rule": f"!has(self.credentials) || {FETCHED_RULE}",
            "message": "an adapter's credentials are for hf, s3, gs, az and https only: remove them",
        },
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
