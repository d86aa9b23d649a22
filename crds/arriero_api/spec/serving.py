"""How requests are treated: spec.serving."""

from typing import Annotated

from pydantic import Field

from arriero_api.schema import Schema, ruled
from arriero_api.spec.container import KeyRef


class ApiKey(Schema):
    """The key that requests need."""

    secret_key_ref: KeyRef = Field(
        description="A key of a Secret of the namespace. Mounted as a file; a changed Secret counts without a restart."
    )


class Serving(Schema):
    """How requests are treated."""

    request_timeout_seconds: Annotated[int, Field(ge=1, le=86_400)] = Field(
        default=300, description="The longest that one request may take; then it is ended with an error."
    )
    drain_seconds: Annotated[int, Field(ge=0, le=86_400)] | None = Field(
        default=None,
        description=(
            "How long a stopping pod lets its requests go on; default: requestTimeoutSeconds, so that none is lost. Less aborts "
            "requests that are still within their time, and needs allowRequestAbort."
        ),
    )
    allow_request_abort: bool = Field(
        default=False,
        description="Allow a drainSeconds below requestTimeoutSeconds: requests may then be lost when a pod stops.",
    )
    max_tokens: Annotated[int, Field(ge=1, le=16_777_216)] | None = Field(
        default=None,
        description=(
            "Most tokens that one answer may have. Requests that ask for more, or for no limit, end there with finish_reason length, as "
            "answers at the end of the context do; default: what the context has room for."
        ),
    )
    api_key: ApiKey | None = Field(
        default=None,
        description="The key that requests need, as 'Authorization: Bearer KEY'; default: everybody who reaches the pods may ask.",
    )

    model_config = ruled(
        {
            "rule": "!has(self.drainSeconds) || self.drainSeconds >= self.requestTimeoutSeconds || self.allowRequestAbort",
            "message": "spec.serving.drainSeconds is less than requestTimeoutSeconds: requests would be lost when a pod stops. Raise it or lower requestTimeoutSeconds, or set allowRequestAbort",
        }
    )
