"""What is to be served."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Model:
    """Which model to serve. `pin` is the commit to serve, if one is recorded; `pooling`: it is to make embeddings."""

    uri: str
    revision: str = ""
    pin: str = ""
    pooling: bool = False


@dataclass(frozen=True, slots=True)
class Wish:
    """One registration over the API. `shown` is what the client called the model, `kind` is llm, embedding or empty for
    either."""

    name: str
    model: Model
    shown: str
    kind: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
