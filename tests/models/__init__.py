"""Model folders for the tests: real small weights that a package ships, and random ones of the same shape of files."""

from tests.models.folders import embedder, llama3, scorer, smollm2, tiny, vision

__all__ = ["embedder", "llama3", "scorer", "smollm2", "tiny", "vision"]
