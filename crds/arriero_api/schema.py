"""Building blocks of the typed resource: the base model and annotated types that carry Kubernetes' schema words."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel


def rules(*validations: dict[str, str]) -> dict[str, Any]:
    """CEL rules for `json_schema_extra`: each has `rule` and a `message` that names field and remedy."""
    return {"x-kubernetes-validations": list(validations)}


def matching(pattern: str, message: str) -> dict[str, Any]:
    """A string that matches `pattern`. A rule, not a schema pattern: the API server answers with `message` instead of
    the expression."""
    return rules({"rule": f"self.matches(r'{pattern}')", "message": message})


Quantity = Annotated[
    int | str,
    WithJsonSchema(
        {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": True,
            "maxLength": 32,
            **rules(
                {
                    "rule": "type(self) == int ? self >= 0"
                    " : isQuantity(self) && !quantity(self).isLessThan(quantity('0'))",
                    "message": "must be a quantity that is not negative, such as 2, 500m or 8Gi",
                }
            ),
        }
    ),
]
"""A Kubernetes quantity, such as 2, "500m" or "8Gi"."""

ServedName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=128,
        json_schema_extra=matching(
            "^[A-Za-z0-9]([A-Za-z0-9._:/-]*[A-Za-z0-9])?$",
            "a served name has letters, digits and . _ : / - only, and begins and ends with a letter or digit",
        ),
    ),
]


class Schema(BaseModel):
    """Base of all parts: camelCase on the wire; unknown fields are left to the API server, which prunes them."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)


def listed_by(*keys: str) -> dict[str, Any]:
    """A list that server-side apply merges by `keys`."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


def ruled(*validations: dict[str, str]) -> ConfigDict:
    """The `model_config` of a part on which these CEL rules stand."""
    return ConfigDict(**{**Schema.model_config, "json_schema_extra": rules(*validations)})
