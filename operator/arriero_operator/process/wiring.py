"""The one place where the operator's parts meet: what is made from what, what runs beside what, and how it ends."""

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from arriero_operator.cache.kube import CachedKube
from arriero_operator.cache.store import Cache
from arriero_operator.configuration.settings import Settings
from arriero_operator.edge import watch
from arriero_operator.kube.adapter import ApiServer
from arriero_operator.kube.credentials import Credentials
from arriero_operator.kube.errors import Throttled, Unavailable
from arriero_operator.kube.protocol import MODELS, Kube
from arriero_operator.process import health
from arriero_operator.process.crd import check_crd
from arriero_operator.process.lease import Lease
from arriero_operator.process.metrics import Metrics
from arriero_operator.process.namespaces import Namespaces, only_served
from arriero_operator.process.options import Options
from arriero_operator.process.rights import Right, check_again, check_rights, left_out, rights
from arriero_operator.watching.follow import follow, lists_at_once
from arriero_operator.watching.intake import Intake
from arriero_operator.watching.news import Expected
from arriero_operator.watching.resync import Resync
from arriero_operator.watching.served import Served
from arriero_operator.watching.watches import Watches
from arriero_operator.work.keys import Key
from arriero_operator.work.queue import Queue
from arriero_operator.work.result import Reconcile

_log = logging.getLogger(__name__)

VIGIL: Final = 600.0
"""Seconds between two looks at the CRD while the operator runs: an older one would drop what is written."""
_EDGE_STOP: Final = 15.0
_AWAY: Final = 5.0
"""Seconds between two tries to reach an API server that is away: to end would add the kubelet's back-off to that."""

Reconciling = contextlib.AbstractAsyncContextManager[Reconcile]
MakeReconcile = Callable[[Kube, Cache, Settings, Expected, Callable[[Key], None]], Reconciling]
"""The reconcile lasts as long as its block."""


class WatchEnded(Exception):
    """Kopf stopped by itself and said nothing."""


class Operator:
    """One operator process."""

    def __init__(self, options: Options, settings: Settings, api: ApiServer, observed: Metrics) -> None:
        self._options = options
        self._settings = settings
        self._api = api
        self._metrics = observed
        self._cache = Cache(settings.operator_class)
        self._expected = Expected()
        self._stop = asyncio.Event()
        self._edge_stop = asyncio.Event()
        self._edge_ready = asyncio.Event()
        self._served = Served(settings.watch_namespaces)
        self._watches = Watches(settings.watch_namespaces)

    async def run(self, make_reconcile: MakeReconcile) -> None:
        """Work until told to stop. Raises StartupError, LeaseLost, KubeError and what ends a watch."""
        self._on_signal()
        kube = CachedKube(self._api, self._cache)
        settings, expected = self._settings, self._expected
        async with make_reconcile(kube, self._cache, settings, expected, lambda key: queue.add(key)) as reconcile:
            queue = Queue(only_served(reconcile, self._served), settings.workers, self._metrics)
            await self._run(kube, queue)

    async def _run(self, kube: Kube, queue: Queue) -> None:
        options = self._options
        lease = Lease(self._api, options.lease_namespace, options.lease, options.identity)
        resync = Resync(kube, self._cache, queue.add, self._served, self._metrics.repaired)
        self._watches.on_relist(resync.relisted)
        health.gauges(self._metrics, queue, lease, self._cache, self._served)
        probes = health.probes(queue, resync, self._watches, self._edge_ready, self._metrics)
        await probes.start(options.probe_port)
        try:
            if await self._reach(self._check):
                await self._work(queue, lease, resync)
        finally:
            await lease.release()
            await probes.stop()

    async def _reach(self, step: Callable[[], Awaitable[None]]) -> bool:
        """Take a step of the start, however long the API server is away; False: told to stop meanwhile."""
        while not self._stop.is_set():
            try:
                await step()
                return True
            except (Unavailable, Throttled) as error:
                wait = max(_AWAY, getattr(error, "retry_after", 0.0))
                _log.warning("API server not reached", extra={"error": str(error), "retry_in": wait})
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), wait)
        return False

    async def _check(self) -> None:
        settings = self._settings
        lost = await check_rights(self._api, self._rights(settings.watch_namespaces))
        for namespace, because in lost.items():
            self._served.lose(namespace, because)
        await check_crd(self._api)
        said = {
            "namespaces": ", ".join(self._served.there()) or "all",
            "left_out": "; ".join(left_out(settings.reads, settings.network_policies.enabled)) or "nothing",
        }
        _log.info("Rights and CRD are as needed", extra=said)

    async def _work(self, queue: Queue, lease: Lease, resync: Resync) -> None:
        """Run everything until the first part ends; then end the rest, the watch last."""
        intake = Intake(self._cache, self._expected, queue.told, queue.add, self._metrics.watched)
        namespaces = self._namespaces(intake, queue, resync)
        parts = [
            asyncio.create_task(self._stop.wait(), name="stop"),
            asyncio.create_task(self._rearm(), name="signals"),
            asyncio.create_task(self._lead(queue, lease, resync), name="lead"),
            asyncio.create_task(self._vigil(), name="crd"),
            asyncio.create_task(namespaces.run(), name="children"),
        ]
        # Kopf cancels whatever began after it, so it comes last.
        edge = asyncio.create_task(self._watch(intake), name="edge")
        done, _ = await asyncio.wait([*parts, edge], return_when=asyncio.FIRST_COMPLETED)
        _log.info("Stopping", extra={"because": ", ".join(sorted(task.get_name() for task in done))})
        await _end(parts)
        await lease.release()
        self._edge_stop.set()
        await asyncio.wait([edge], timeout=_EDGE_STOP)
        if not edge.done():
            # After an error Kopf's requests may wait for a login that never comes; nothing of ours is left to do.
            _log.critical("Watch does not end", extra={"waited": _EDGE_STOP})
            os._exit(1)
        # Kopf ends by cancelling others, so its own error comes first.
        for task in (edge, *done):
            if not task.cancelled():
                task.result()
        if parts[0] not in done:
            raise WatchEnded("the watch has ended without being asked to")

    def _namespaces(self, intake: Intake, queue: Queue, resync: Resync) -> Namespaces:
        lists = lists_at_once()
        return Namespaces(
            self._served,
            self._cache,
            self._watches,
            resync,
            queue.add,
            lambda place: follow(self._api, place, self._cache.selector, intake, self._watches, lists),
            lambda place: check_again(self._api, self._rights((place,))),
        )

    def _rights(self, namespaces: tuple[str, ...]) -> list[Right]:
        return rights(namespaces, self._options.lease_namespace, self._settings.reads)

    async def _watch(self, intake: Intake) -> None:
        await watch(
            intake,
            Credentials(self._options.kubeconfig),
            self._served,
            self._watches,
            self._edge_stop,
            self._edge_ready,
        )

    async def _lead(self, queue: Queue, lease: Lease, resync: Resync) -> None:
        """Fill the cache, stand by until the Lease is held, and work as long as it is kept."""
        await self._watches.begun.wait()
        # What the informers list is in the cache before they stream; Kopf has handlers for it, which may come later.
        if not await self._reach(lambda: resync.prime((MODELS,))):
            await asyncio.Event().wait()  # told to stop: the end is on its way
        async with asyncio.TaskGroup() as group:
            group.create_task(resync.run())
            await lease.acquire()
            group.create_task(queue.run())
            group.create_task(lease.keep())

    async def _vigil(self) -> None:
        """End the process where the CRD has become one that it cannot work with. Raises StartupError."""
        while True:
            await asyncio.sleep(VIGIL)
            with contextlib.suppress(Unavailable, Throttled):
                await check_crd(self._api)

    async def _rearm(self) -> None:
        """Kopf takes the signals for itself when it begins; they are ours again, so that the order of the end is."""
        await self._edge_ready.wait()
        self._on_signal()
        _log.info("Watching")
        await asyncio.Event().wait()

    def _on_signal(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)


async def serve(options: Options, settings: Settings, make_reconcile: MakeReconcile) -> None:
    """Connect, work, disconnect. Raises as Operator.run, and CredentialsError."""
    observed = Metrics()
    api = await ApiServer.connect(Credentials(options.kubeconfig), observed)
    try:
        await Operator(options, settings, api, observed).run(make_reconcile)
    finally:
        await api.close()


async def _end(tasks: Iterable[asyncio.Task[object]]) -> None:
    pending = [task for task in tasks if not task.done()]
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
