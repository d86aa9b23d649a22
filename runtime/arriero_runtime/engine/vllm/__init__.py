"""vLLM as the engine: the only package that imports it, and only inside of functions, as that takes many seconds."""

from arriero_runtime.engine.vllm.loader import VllmLoader

__all__ = ["VllmLoader"]
