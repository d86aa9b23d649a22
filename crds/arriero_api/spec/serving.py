"""How requests are treated: spec.serving."""

from typing import Annotated

from pydantic import Field

from arriero_api.schema import Schema, ruled


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
