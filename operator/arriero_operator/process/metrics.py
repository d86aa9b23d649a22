"""The catalogue of the operator's metrics, and the registry that holds their values."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS: Final = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)


@dataclass(frozen=True, slots=True)
class Metric:
    """One family of series: its name, what it tells, and by which labels it is split."""

    name: str
    text: str
    labels: tuple[str, ...] = ()


RECONCILES: Final = Metric(
    "arriero_reconciles_total",
    "Reconciles by outcome: success, requeue, error (of the API server), fault (of the operator itself), terminal.",
    ("outcome",),
)
RECONCILE_SECONDS: Final = Metric("arriero_reconcile_seconds", "Duration of a reconcile.")
RECONCILES_RUNNING: Final = Metric("arriero_reconciles_running", "Reconciles under way.")
QUEUE_DEPTH: Final = Metric("arriero_queue_depth", "Models that are due and wait for a worker.")
QUEUE_OLDEST: Final = Metric("arriero_queue_oldest_seconds", "How long the first of them has waited.")
REQUESTS: Final = Metric(
    "arriero_api_requests_total",
    "Requests to the API server by verb, resource and status code (0: no answer).",
    ("verb", "resource", "code"),
)
REQUEST_SECONDS: Final = Metric("arriero_api_request_seconds", "Duration of a request to the API server.")
WATCH_EVENTS: Final = Metric("arriero_watch_events_total", "Watch events by kind.", ("kind",))
REPAIRS: Final = Metric("arriero_resync_repairs_total", "Changes that a watch had lost, by kind.", ("kind",))
CACHED: Final = Metric("arriero_cached_objects", "Objects in the cache.")
NAMESPACES_LOST: Final = Metric(
    "arriero_namespaces_lost", "Namespaces of watchNamespaces that are not served: gone, or without the chart's Role."
)
LEASE_HELD: Final = Metric("arriero_lease_held", "1 while this process is the one that works.")


class Metrics:
    """The values of one operator; each has its own registry, so that several fit into one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._reconciles = self._counter(RECONCILES)
        self._reconcile_seconds = self._histogram(RECONCILE_SECONDS)
        self._requests = self._counter(REQUESTS)
        self._request_seconds = self._histogram(REQUEST_SECONDS)
        self._events = self._counter(WATCH_EVENTS)
        self._repairs = self._counter(REPAIRS)

    def gauge(self, metric: Metric, value: Callable[[], float]) -> None:
        """A series that is asked for its value when it is read."""
        Gauge(metric.name, metric.text, registry=self._registry).set_function(value)

    def reconciled(self, outcome: str, seconds: float) -> None:
        """A reconcile has ended."""
        self._reconciles(outcome).inc()
        self._reconcile_seconds.observe(seconds)

    def requested(self, verb: str, resource: str, code: int, seconds: float) -> None:
        """A request to the API server has ended."""
        self._requests(verb, resource, str(code)).inc()
        self._request_seconds.observe(seconds)

    def watched(self, kind: str) -> None:
        """A watch event has come in."""
        self._events(kind).inc()

    def repaired(self, kind: str) -> None:
        """The resync found what a watch had lost."""
        self._repairs(kind).inc()

    def render(self) -> bytes:
        """All series in Prometheus' text format."""
        return generate_latest(self._registry)

    def _counter(self, metric: Metric) -> Callable[..., Counter]:
        """The family's series by their labels: the library finds each under a lock, after a look at every label."""
        return cache(Counter(metric.name, metric.text, metric.labels, registry=self._registry).labels)

    def _histogram(self, metric: Metric) -> Histogram:
        return Histogram(metric.name, metric.text, metric.labels, registry=self._registry, buckets=_SECONDS)
