"""A model that a client wants to be served."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from arriero_runtime.model import Model
from arriero_runtime.native.facts import Facts

DIMENSION: Final = "embedding_dimension"
"""Key of the metadata."""


@dataclass(frozen=True, slots=True)
class Wish:
    """One registration over the API. `shown` is what the client called the model, `kind` is llm, embedding or empty for
    either."""

    name: str
    model: Model
    shown: str
    kind: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


def unlike(wish: Wish, facts: Facts) -> str:
    """What the registration says of the model that is loaded and is not so, in words; empty where all is."""
    kind = "embedding" if facts.embeds else "llm"
    if wish.kind and wish.kind != kind:
        return f"model_type is {wish.kind!r}, and the model is of the kind {kind!r}"
    dimension = wish.metadata.get(DIMENSION)
    if dimension is not None and facts.embeds and dimension != facts.dimension:
        return f"metadata.{DIMENSION} is {dimension}, and the model's vectors have {facts.dimension} numbers"
    return ""
