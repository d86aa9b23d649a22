"""The catalogue of the operator's metrics, and the registry that holds them."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)


class Metrics:
    """All series of one operator; each has its own registry, so that several fit into one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        own = self.registry
        self._reconciles = Counter(
            "arriero_reconciles_total",
            "Reconciles by outcome: success, requeue, error, terminal.",
            ["outcome"],
            registry=own,
        )
        self._reconcile_seconds = Histogram(
            "arriero_reconcile_seconds", "Duration of a reconcile.", buckets=_SECONDS, registry=own
        )
        self._requests = Counter(
            "arriero_api_requests_total",
            "Requests to the API server by verb, resource and status code (0: no answer).",
            ["verb", "resource", "code"],
            registry=own,
        )
        self._request_seconds = Histogram(
            "arriero_api_request_seconds", "Duration of a request to the API server.", buckets=_SECONDS, registry=own
        )
        self._events = Counter("arriero_watch_events_total", "Watch events by kind.", ["kind"], registry=own)
        self._repairs = Counter(
            "arriero_resync_repairs_total", "Objects that a watch had lost, by kind.", ["kind"], registry=own
        )

    def gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        """A series that is asked for its value when it is read."""
        Gauge(name, text, registry=self.registry).set_function(value)

    def reconciled(self, outcome: str, seconds: float) -> None:
        """A reconcile has ended."""
        self._reconciles.labels(outcome).inc()
        self._reconcile_seconds.observe(seconds)

    def requested(self, verb: str, resource: str, code: int, seconds: float) -> None:
        """A request to the API server has ended."""
        self._requests.labels(verb, resource, str(code)).inc()
        self._request_seconds.observe(seconds)

    def watched(self, kind: str) -> None:
        """A watch event has come in."""
        self._events.labels(kind).inc()

    def repaired(self, kind: str) -> None:
        """The resync found what a watch had lost."""
        self._repairs.labels(kind).inc()

    def render(self) -> bytes:
        """All series in Prometheus' text format."""
        return generate_latest(self.registry)
