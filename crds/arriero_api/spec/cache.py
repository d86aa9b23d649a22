"""Where fetched models are kept: spec.cache."""

from pydantic import Field

from arriero_api.schema import Quantity, Schema


class EmptyDirCache(Schema):
    """A cache that lives as long as the pod, on the node's ephemeral storage."""

    size_limit: Quantity | None = Field(default=None, description="The most it may hold; default: no limit.")


class Cache(Schema):
    """Where fetched models and compile caches are kept."""

    empty_dir: EmptyDirCache = Field(
        description="A cache that lives as long as the pod, on the node's ephemeral storage."
    )
