"""Which model a server is to serve."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Model:
    """`pin` is the commit to serve, if one is recorded; with `pooling` it is to make embeddings and nothing else."""

    uri: str
    revision: str = ""
    pin: str = ""
    pooling: bool = False
