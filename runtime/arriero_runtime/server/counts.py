"""What the server counts of its own. The supervisor serves it on 8081, before the engine's series.

No label takes a value that a client has chosen: paths and methods are those of the table, or "other".
"""

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from arriero_api.contract import Phase
from arriero_runtime.engine.protocol import Message, Send
from arriero_runtime.sources.meter import FETCHED

OTHER: Final = "other"
GONE: Final = 499
"""Counted as the status of a request whose client left before any answer."""
_METHODS: Final = frozenset({"GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"})
OUTCOMES: Final = ("completed", "client_left", "ended")

Entry = tuple[str, str, tuple[str, ...]]
REQUESTS: Final[Entry] = (
    "arriero_runtime_requests",
    "Requests to port 8080 by the status of their answer; 499: the client left first.",
    ("route", "method", "status"),
)
WORK: Final[Entry] = (
    "arriero_runtime_work",
    "Requests to the engine by how they ended; ended: by a time limit, a drain, a failure.",
    ("outcome",),
)
PHASES: Final[Entry] = (
    "arriero_runtime_phase_seconds",
    "Time that the server has spent in each phase, the present one included.",
    ("phase",),
)
BYTES: Final[Entry] = (
    "arriero_runtime_fetched_bytes",
    "Bytes of models and adapters fetched by this server: not what was there before, or fetched by another pod.",
    (),
)
ENGINES: Final[Entry] = (
    "arriero_runtime_engine_starts",
    "Engines that this server has begun to load: more than one only where clients register models.",
    (),
)
CATALOGUE: Final = (REQUESTS, WORK, PHASES, BYTES, ENGINES)
"""Name (a counter's `_total` is not part of it), help, labels."""


class Counts(Collector):
    """Of one server."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._requests: Counter[tuple[str, ...]] = Counter()
        self._work: Counter[tuple[str, ...]] = Counter({(outcome,): 0 for outcome in OUTCOMES})
        self._seconds: dict[tuple[str, ...], float] = {}
        self._routes: frozenset[str] = frozenset()
        self._engines = 0
        self._phase = Phase.EMPTY
        self._since = clock()

    @property
    def _values(self) -> tuple[Mapping[tuple[str, ...], float], ...]:
        return self._requests, self._work, self._seconds, {(): FETCHED.bytes}, {(): self._engines}

    def know(self, routes: Iterable[str]) -> None:
        """Paths, with {name} for their last part where that is free."""
        self._routes = frozenset(routes)

    def label(self, path: str, found: bool) -> str:
        """The label for a path; `found` where the table has a route for it."""
        if path in self._routes:
            return path
        template = f"{path.rsplit('/', 1)[0]}/{{name}}"
        while found and template not in self._routes and template.count("/") > 1:
            template = f"{template.removesuffix('/{name}').rsplit('/', 1)[0]}/{{name}}"
        return template if found and template in self._routes else OTHER

    def answered(self, label: str, method: str, status: int) -> None:
        """One request is over."""
        self._requests[label, method if method in _METHODS else OTHER, str(status or GONE)] += 1

    def worked(self, outcome: str) -> None:
        """One request of the engine is over."""
        self._work[outcome,] += 1

    def enter(self, phase: Phase) -> None:
        """Harmless when repeated."""
        now = self._clock()
        spent = self._seconds.get((self._phase.value,), 0.0) + max(0.0, now - self._since)
        self._seconds[self._phase.value,] = spent
        self._phase, self._since = phase, now

    def engine_begins(self) -> None:
        """One more engine is being loaded. The phase Loading begins before, while arguments are still checked."""
        self._engines += 1

    def text(self) -> str:
        """The Prometheus text format."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return generate_latest(registry).decode()

    def collect(self) -> Iterator[Metric]:
        """For Prometheus' own writer of its format."""
        self.enter(self._phase)
        for (name, words, labels), values in zip(CATALOGUE, self._values, strict=True):
            family = CounterMetricFamily(name, words, labels=labels)
            for key, value in values.items():
                family.add_metric(key, value)
            yield family


class Status:
    """Notes the status of an answer on its way. `more` is the way for what follows its beginning."""

    def __init__(self, send: Send) -> None:
        self.more = send
        self.code = 0

    def send(self, message: Message) -> Awaitable[None]:
        """The same."""
        if message["type"] == "http.response.start":
            self.code = message["status"]
        return self.more(message)
