"""vLLM's Prometheus series, as they stand in this process."""

from typing import Final

from prometheus_client import REGISTRY, generate_latest

from arriero_runtime.engine.protocol import Counters

_STEPS: Final = "vllm:iteration_tokens_total_count"
_TOKENS: Final = ("vllm:generation_tokens_total", "vllm:prompt_tokens_total")


def counters() -> Counters:
    """Steps and tokens since the start, over all engines. Looks at three series only."""
    totals: dict[str, float] = {}
    for metric in REGISTRY.restricted_registry([_STEPS, *_TOKENS]).collect():
        for sample in metric.samples:
            totals[sample.name] = totals.get(sample.name, 0.0) + sample.value
    return Counters(int(totals.get(_STEPS, 0)), int(sum(totals.get(name, 0) for name in _TOKENS)))


def text() -> str:
    """Everything, in the text format."""
    return generate_latest(REGISTRY).decode()
