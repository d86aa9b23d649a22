"""What a pod has beyond the other fields: spec.podTemplate."""

from typing import Annotated, Any

from pydantic import Field

from arriero_api.schema import Schema

PodSpec = Annotated[
    dict[str, Any], Field(max_length=64, json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})
]
"""Part of a core PodSpec. Only the API server knows all of its fields, so it is the one that checks them."""

_Map = Annotated[dict[str, Annotated[str, Field(max_length=4096)]], Field(max_length=64)]


class PodTemplateMetadata(Schema):
    """Metadata of the pods."""

    labels: _Map | None = Field(default=None, description="Further labels of the pods.")
    annotations: _Map | None = Field(default=None, description="Further annotations of the pods.")


class PodTemplate(Schema):
    """Part of a core PodTemplateSpec, laid over the pods that Arriero makes. Changing it rolls out new pods."""

    metadata: PodTemplateMetadata | None = Field(default=None, description="Labels and annotations of the pods.")
    spec: PodSpec | None = Field(
        default=None,
        description=(
            "Part of a core PodSpec: maps are merged, containers (the model's is called 'runtime') and volumes are merged by name, "
            "tolerations are added, other lists are replaced. What Arriero sets itself is refused by its path; the API server checks "
            "the rest."
        ),
    )
