"""A model that a client wants to be served."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from arriero_runtime.model import Model


@dataclass(frozen=True, slots=True)
class Wish:
    """One registration over the API. `shown` is what the client called the model, `kind` is llm, embedding or empty for
    either."""

    name: str
    model: Model
    shown: str
    kind: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
