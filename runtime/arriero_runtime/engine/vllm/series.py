"""vLLM's Prometheus series, as they stand in this process."""

from collections.abc import Callable
from typing import Any, Final

from prometheus_client import REGISTRY, generate_latest

_TOKENS: Final = ("vllm:generation_tokens_total", "vllm:prompt_tokens_total")
_ADAPTERS: Final = "_lora_adapters"
"""The end of the labels that list adapters."""


def tokens() -> int:
    """Read and written since the start, over all engines. Looks at two series only."""
    metrics = REGISTRY.restricted_registry(_TOKENS).collect()
    return int(sum(sample.value for metric in metrics for sample in metric.samples if sample.name in _TOKENS))


def text() -> str:
    """Everything, in the text format."""
    return generate_latest(REGISTRY).decode()


class AdaptersNow:
    """In place of vLLM's gauge of the adapters in use, which has them as labels, in any order, and would keep a series
    for each list that there ever was. One series is left: that of now, of the names that `public` gives, in order."""

    def __init__(self, gauge: Any, public: Callable[[str], str]) -> None:
        self._gauge = gauge
        self._public = public
        self._shown: dict[str, str] = {}
        self._next: dict[str, str] = {}

    def labels(self, **labels: Any) -> "AdaptersNow":
        """As the gauge's."""
        self._next = {name: self._listed(name, str(value)) for name, value in labels.items()}
        return self

    def set_to_current_time(self) -> None:
        """As the gauge's."""
        if self._shown != self._next:
            self._gauge.clear()
            self._shown = self._next
        self._gauge.labels(**self._next).set_to_current_time()

    def _listed(self, label: str, value: str) -> str:
        if not label.endswith(_ADAPTERS):
            return value
        return ",".join(sorted({self._public(name) for name in value.split(",") if name}))


def bound_adapters(client: Any, public: Callable[[str], str]) -> None:
    """Put `AdaptersNow` into AsyncLLM's counts. Raises RuntimeError where they are made otherwise."""
    found = [one for one in client.logger_manager.stat_loggers if getattr(one, "gauge_lora_info", None) is not None]
    if client.vllm_config.lora_config is not None and not found:
        raise RuntimeError("vLLM tells of the adapters in use in another way")
    for one in found:
        one.gauge_lora_info = AdaptersNow(one.gauge_lora_info, public)
