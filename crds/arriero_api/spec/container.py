"""Compute resources and environment of the runtime container: spec.resources, spec.engine.env and envFrom."""

from typing import Annotated, Final

from pydantic import Field

from arriero_api.credentials import SECRET_VARIABLES
from arriero_api.schema import Quantity, Schema, matching, ruled

_SECRETS: Final = ", ".join(f"'{name}'" for name in sorted(SECRET_VARIABLES))


class Resources(Schema):
    """Compute resources of one pod, as in a container. Each limit or request here overrides the profile's of that name."""

    limits: Annotated[dict[str, Quantity], Field(max_length=16)] | None = Field(
        default=None,
        description='The most one pod may use, for example {"nvidia.com/gpu": 1, "memory": "24Gi"}.',
    )
    requests: Annotated[dict[str, Quantity], Field(max_length=16)] | None = Field(
        default=None, description="What the scheduler sets aside for one pod; default: the limits."
    )


ObjectName = Annotated[str, Field(min_length=1, max_length=253)]


class KeyRef(Schema):
    """A key of a Secret or ConfigMap of the namespace, which must be there."""

    name: ObjectName = Field(description="Name of the object.")
    key: Annotated[
        str,
        Field(
            min_length=1,
            max_length=253,
            json_schema_extra=matching("^[-._a-zA-Z0-9]+$", "a key has letters, digits and - . _ only"),
        ),
    ] = Field(description="Key in its data.")


class KeySelector(Schema):
    """A key of a Secret or ConfigMap of the namespace."""

    name: ObjectName = Field(description="Name of the object.")
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
            "rule": f"!has(self.value) || !(self.name in [{_SECRETS}])",
            "message": (
                "a secret must not stand in the resource: put it into a Secret of the namespace, and name that in "
                "spec.model.credentials.secretName"
            ),
        },
        {
            "rule": "!(has(self.value) && has(self.valueFrom))",
            "message": "an environment variable has either value or valueFrom, not both: remove one",
        },
    )


class ObjectSelector(Schema):
    """A Secret or ConfigMap of the namespace."""

    name: ObjectName = Field(description="Name of the object.")
    optional: bool | None = Field(default=None, description="Start the container although the object is absent.")


class EnvFrom(Schema):
    """A Secret or ConfigMap all of whose keys become environment variables: exactly one of the two."""

    prefix: (
        Annotated[
            str,
            Field(
                min_length=1,
                max_length=128,
                json_schema_extra=matching(
                    "^[A-Za-z_][A-Za-z0-9_]*$",
                    "a prefix of environment variables has letters, digits and _ only, and does not begin with a digit",
                ),
            ),
        ]
        | None
    ) = Field(default=None, description="Put before each key to make the variable's name.")
    secret_ref: ObjectSelector | None = Field(default=None, description="A Secret of the namespace.")
    config_map_ref: ObjectSelector | None = Field(default=None, description="A ConfigMap of the namespace.")

    model_config = ruled(
        {
            "rule": "has(self.secretRef) != has(self.configMapRef)",
            "message": "an entry of envFrom needs exactly one of secretRef and configMapRef",
        }
    )
