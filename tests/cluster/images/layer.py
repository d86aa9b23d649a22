"""A layer of an image: a folder in the cache and where its content goes in the image."""

from dataclasses import dataclass
from pathlib import Path

from tests.cluster.images import digest

__all__ = ["Layer", "chain_ids"]


@dataclass(frozen=True)
class Layer:
    """Content of `source`, to be laid at `prefix` (relative to the image's root).

    `key` is the digest of what `source` was made from. The layer's diff ID is derived from it and not from a tar
    stream: no such stream exists, and containerd only asks whether it has a snapshot of that name.
    """

    source: Path
    key: str
    prefix: str = "."

    @property
    def diff_id(self) -> str:
        """The name of the layer in the image's configuration."""
        return "sha256:" + digest.of_values(self.key, self.prefix)


def chain_ids(layers: list[Layer]) -> list[str]:
    """The names of the snapshots after each layer, by the rule of the OCI image specification."""
    chain: list[str] = []
    for layer in layers:
        chain.append(_sha256(f"{chain[-1]} {layer.diff_id}") if chain else layer.diff_id)
    return chain


def _sha256(text: str) -> str:
    return "sha256:" + digest.of_bytes(text.encode())
