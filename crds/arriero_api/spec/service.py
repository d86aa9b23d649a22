"""The Service in front of a model's pods: spec.service."""

from typing import Annotated, Literal

from pydantic import Field

from arriero_api.schema import Schema, matching, rules

_OWNED = "!k.startsWith('arriero.dev/') && k != 'app.kubernetes.io/managed-by'"


class Service(Schema):
    """The Service that clients in the cluster reach the model by. Changing it restarts nothing."""

    name: (
        Annotated[
            str,
            Field(
                min_length=1,
                max_length=63,
                json_schema_extra=matching(
                    "^[a-z]([-a-z0-9]*[a-z0-9])?$",
                    "spec.service.name must be a DNS label: lower-case letters, digits and -, with a letter first",
                ),
            ),
        ]
        | None
    ) = Field(
        default=None,
        description=(
            "Its name, and so the host of status.url; default: the model's name, or a part of it and a hash where that is no DNS "
            "label. The Service of an earlier name is removed."
        ),
    )
    type: Literal["ClusterIP", "NodePort", "LoadBalancer"] = Field(
        default="ClusterIP", description="Who reaches it, as in a Service of Kubernetes."
    )
    port: Annotated[int, Field(ge=1, le=65_535)] = Field(default=80, description="Port of the model's HTTP API.")
    annotations: (
        Annotated[
            dict[str, Annotated[str, Field(max_length=4096)]],
            Field(
                max_length=32,
                json_schema_extra=rules(
                    {
                        "rule": f"self.all(k, {_OWNED})",
                        "message": "spec.service.annotations has one that Arriero sets itself: remove it",
                    }
                ),
            ),
        ]
        | None
    ) = Field(default=None, description="Further annotations of the Service, for example of a load balancer.")
    labels: (
        Annotated[
            dict[str, Annotated[str, Field(max_length=63)]],
            Field(
                max_length=32,
                json_schema_extra=rules(
                    {
                        "rule": f"self.all(k, {_OWNED})",
                        "message": "spec.service.labels has one that Arriero sets itself: remove it",
                    }
                ),
            ),
        ]
        | None
    ) = Field(default=None, description="Further labels of the Service.")
