"""The one series of vLLM whose labels are what clients do.

FAKE: vLLM's logger, as far as it has this gauge.
"""

import random
from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from arriero_runtime.engine.vllm import series
from arriero_runtime.engine.vllm.adapters import public

LABELS = ("max_lora", "waiting_lora_adapters", "running_lora_adapters")


def recorded(logger: SimpleNamespace, running: list[str], waiting: list[str]) -> None:
    """As vLLM does at each step."""
    labels = {"running_lora_adapters": ",".join(running), "waiting_lora_adapters": ",".join(waiting), "max_lora": 4}
    logger.gauge_lora_info.labels(**labels).set_to_current_time()


def lines(registry: CollectorRegistry) -> list[str]:
    return [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]


def test_there_is_one_series_of_adapters_by_the_names_that_clients_know() -> None:
    registry = CollectorRegistry()
    logger = SimpleNamespace(gauge_lora_info=Gauge("vllm:lora_requests_info", "…", LABELS, registry=registry))
    client = SimpleNamespace(
        vllm_config=SimpleNamespace(lora_config=object()),
        logger_manager=SimpleNamespace(stat_loggers=[SimpleNamespace(), logger]),
    )
    series.bound_adapters(client, public)
    draw, names = random.Random(0), [f"name-{number}@{number}" for number in range(8)]
    for _ in range(200):
        chosen = draw.sample(names, draw.randint(0, 8))
        recorded(logger, chosen, chosen[:2])
        assert len(lines(registry)) == 1
    recorded(logger, ["b@7", "a@1", "b@2"], ["c@3"])
    [line] = lines(registry)
    assert line.startswith(
        'vllm:lora_requests_info{max_lora="4",running_lora_adapters="a,b",waiting_lora_adapters="c"} 1.'
    )
    recorded(logger, [], [])
    assert 'running_lora_adapters=""' in lines(registry)[0]


def test_an_engine_that_tells_of_adapters_in_another_way_is_not_taken() -> None:
    manager = SimpleNamespace(stat_loggers=[SimpleNamespace(gauge_lora_info=None)])
    client = SimpleNamespace(vllm_config=SimpleNamespace(lora_config=None), logger_manager=manager)
    series.bound_adapters(client, public)
    client.vllm_config.lora_config = object()
    with pytest.raises(RuntimeError, match="in another way"):
        series.bound_adapters(client, public)
