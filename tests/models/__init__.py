"""Model folders for the tests: real small weights that a package ships, and random ones of the same shape of files."""

from tests.models.folders import llama3, smollm2, tiny

__all__ = ["llama3", "smollm2", "tiny"]
