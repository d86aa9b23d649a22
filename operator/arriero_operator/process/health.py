"""What the process tells of itself: whether it lives, whether it is ready, and its gauges."""

import asyncio
from typing import Final

from arriero_operator.cache.store import CACHED, Cache
from arriero_operator.process import metrics
from arriero_operator.process.lease import Lease
from arriero_operator.process.metrics import Metrics
from arriero_operator.process.probe_server import Probes
from arriero_operator.watching.resync import Resync
from arriero_operator.watching.served import Served
from arriero_operator.watching.watches import Watches
from arriero_operator.work.queue import Queue

STUCK: Final = 120.0
"""Seconds after which a reconcile that has not ended makes the process not live.

The queue gives up any that waits before that (`work.queue.LONGEST_RUN`), so that an API server that is away never ends
the process: only one that cannot even be given up does.
"""


def probes(queue: Queue, resync: Resync, watches: Watches, begun: asyncio.Event, observed: Metrics) -> Probes:
    """The process is live while no reconcile and no watch hangs; ready once the caches are filled and `begun` is set:
    the watch of models has begun."""

    def stuck() -> str:
        seconds = queue.longest_run
        return f"a reconcile has run for {seconds:.0f} s" if seconds > STUCK else ""

    def filled() -> str:
        return "" if resync.synced else "the caches are not filled yet"

    def watching() -> str:
        return "" if begun.is_set() else "the watch has not begun yet"

    return Probes(live=[stuck, watches.deaf], ready=[filled, watching], metrics=observed.render)


def gauges(observed: Metrics, queue: Queue, lease: Lease, cache: Cache, served: Served) -> None:
    """Series that are asked for their value when they are read."""
    observed.gauge(metrics.QUEUE_DEPTH, lambda: queue.depth)
    observed.gauge(metrics.QUEUE_OLDEST, lambda: queue.oldest_wait)
    observed.gauge(metrics.RECONCILES_RUNNING, lambda: queue.running)
    observed.gauge(metrics.LEASE_HELD, lambda: lease.held)
    observed.gauge(metrics.NAMESPACES_LOST, lambda: len(served.lost))
    observed.gauge(metrics.CACHED, lambda: sum(map(cache.count, CACHED)))
