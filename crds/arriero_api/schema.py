"""Building blocks of the typed resource: the base model and annotated types that carry Kubernetes' schema words."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

QUANTITY_PATTERN = r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$"

Quantity = Annotated[
    int | str,
    WithJsonSchema(
        {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": True,
            "pattern": QUANTITY_PATTERN,
            "maxLength": 32,
        }
    ),
]
"""A Kubernetes quantity, such as 2, "500m" or "8Gi"."""

ServedName = Annotated[
    str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9]([A-Za-z0-9._:/-]*[A-Za-z0-9])?$")
]


class Schema(BaseModel):
    """Base of all parts: camelCase on the wire; unknown fields are left to the API server, which prunes them."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)


def rules(*validations: dict[str, str]) -> dict[str, Any]:
    """CEL rules for `json_schema_extra`: each has `rule` and a `message` that names field and remedy."""
    return {"x-kubernetes-validations": list(validations)}


def listed_by(*keys: str) -> dict[str, Any]:
    """A list that server-side apply merges by `keys`."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
