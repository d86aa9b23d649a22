"""vLLM as the engine: the only package that imports it, and only inside of functions, as that takes many seconds."""

from arriero_runtime.engine.vllm.loader import VllmLoader
from arriero_runtime.engine.vllm.wishes import Wishes

__all__ = ["VllmLoader", "Wishes"]
