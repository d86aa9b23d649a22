"""Metrics of the runtime: the supervisor's own series, then the server's last snapshot."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from arriero_api.contract import AdapterState, Phase
from arriero_runtime.supervisor.log import Copy
from arriero_runtime.supervisor.state import State


@dataclass(slots=True)
class Sources:
    """Where the values come from."""

    state: State
    log: Copy
    parser: Copy
    version: str = ""
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class Series:
    """One metric. `read` gives its samples: label values and number."""

    name: str
    kind: Literal["gauge", "counter"]
    help: str
    read: Callable[[Sources], Iterator[tuple[tuple[str, ...], float]]]
    labels: tuple[str, ...] = ()


def _one(read: Callable[[Sources], float]) -> Callable[[Sources], Iterator[tuple[tuple[str, ...], float]]]:
    def samples(sources: Sources) -> Iterator[tuple[tuple[str, ...], float]]:
        yield (), read(sources)

    return samples


def _phases(sources: Sources) -> Iterator[tuple[tuple[str, ...], float]]:
    now = sources.state.phase
    yield from (((phase.value,), float(phase is now)) for phase in Phase)


def _adapters(sources: Sources) -> Iterator[tuple[tuple[str, ...], float]]:
    told = [one.state for one in sources.state.status.adapters]
    yield from (((state.value,), float(told.count(state))) for state in AdapterState)


def _info(sources: Sources) -> Iterator[tuple[tuple[str, ...], float]]:
    yield (sources.version,), 1.0


def _snapshot_age(sources: Sources) -> Iterator[tuple[tuple[str, ...], float]]:
    if sources.state.snapshot:
        yield (), sources.state.clock() - sources.state.snapshot_at


CATALOGUE: Final = (
    Series("arriero_runtime_info", "gauge", "Version of the runtime.", _info, ("version",)),
    Series("arriero_runtime_phase", "gauge", "1 for the phase that the runtime is in.", _phases, ("phase",)),
    Series(
        "arriero_runtime_ready", "gauge", "1 where the pod is ready.", _one(lambda s: float(not s.state.not_ready()))
    ),
    Series(
        "arriero_runtime_heartbeat_age_seconds",
        "gauge",
        "Time since the server's last word.",
        _one(lambda s: s.state.silent_seconds()),
    ),
    Series(
        "arriero_runtime_loop_lag_seconds",
        "gauge",
        "How late the server's event loop ran.",
        _one(lambda s: s.state.heartbeat.loop_lag_seconds),
    ),
    Series(
        "arriero_runtime_requests_in_flight",
        "gauge",
        "Requests that the server has accepted and not ended.",
        _one(lambda s: s.state.heartbeat.requests_in_flight),
    ),
    Series("arriero_runtime_adapters", "gauge", "Adapters that are asked for, by their state.", _adapters, ("state",)),
    Series(
        "arriero_runtime_stuck_seconds",
        "gauge",
        "How long the engine has held requests without a step.",
        _one(lambda s: s.state.stuck_seconds()),
    ),
    Series(
        "arriero_runtime_tokens_total",
        "counter",
        "Tokens that the engine has made.",
        _one(lambda s: s.state.heartbeat.tokens_total),
    ),
    Series(
        "arriero_runtime_engine_steps_total",
        "counter",
        "Steps that the engine has made.",
        _one(lambda s: s.state.heartbeat.engine_steps_total),
    ),
    Series(
        "arriero_runtime_log_bytes_total",
        "counter",
        "Bytes of log that the server has written.",
        _one(lambda s: s.log.bytes_total),
    ),
    Series(
        "arriero_runtime_log_dropped_bytes_total",
        "counter",
        "Bytes of log that were dropped because their reader was too slow.",
        _one(lambda s: s.log.dropped_total),
    ),
    Series(
        "arriero_runtime_log_unread_bytes_total",
        "counter",
        "Bytes of log that the diagnosis was too slow to read.",
        _one(lambda s: s.parser.dropped_total),
    ),
    Series(
        "arriero_runtime_restarts_total",
        "counter",
        "How often this pod's container, and the engine in it, has been started anew.",
        _one(lambda s: s.restarts),
    ),
    Series(
        "arriero_runtime_snapshot_age_seconds",
        "gauge",
        "Age of the server's metrics below; absent where it has sent none.",
        _snapshot_age,
    ),
)


def render(sources: Sources) -> str:
    """The Prometheus text format. prometheus_client is imported at the first scrape, not before the first probe."""
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
    from prometheus_client.registry import Collector

    class Own(Collector):
        def collect(self) -> Iterator[Metric]:
            for series in CATALOGUE:
                kind = GaugeMetricFamily if series.kind == "gauge" else CounterMetricFamily
                family = kind(series.name, series.help, labels=series.labels)
                for labels, value in series.read(sources):
                    family.add_metric(labels, value)
                yield family

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Own())
    return generate_latest(registry).decode() + sources.state.snapshot
