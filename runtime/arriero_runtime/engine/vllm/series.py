"""vLLM's Prometheus series, as they stand in this process."""

from typing import Final

from prometheus_client import REGISTRY, generate_latest

_TOKENS: Final = ("vllm:generation_tokens_total", "vllm:prompt_tokens_total")


def tokens() -> int:
    """Read and written since the start, over all engines. Looks at two series only."""
    metrics = REGISTRY.restricted_registry(_TOKENS).collect()
    return int(sum(sample.value for metric in metrics for sample in metric.samples if sample.name in _TOKENS))


def text() -> str:
    """Everything, in the text format."""
    return generate_latest(REGISTRY).decode()
