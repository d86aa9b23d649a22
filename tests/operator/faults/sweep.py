"""Runs of a scenario with an operator that dies after its n-th write, or does not learn of its n-th answer."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final

import yaml

from arriero_operator.cache.store import CACHED
from arriero_operator.configuration import file
from arriero_operator.configuration.settings import Settings
from arriero_operator.kube.adapter import ApiServer
from arriero_operator.kube.credentials import Credentials
from arriero_operator.kube.protocol import MODELS, Kind, Object
from tests.operator.faults.feed import Feed
from tests.operator.faults.kubelet import Kubelet
from tests.operator.faults.mortal import Mortal
from tests.operator.faults.scenarios import NAME, READY, Done, Scenario, create
from tests.operator.faults.snapshot import Snapshot, accessories, snapshot
from tests.support.eventually import eventually_async
from tests.support.faults import Drop, Seen, nth
from tests.support.operator import operator_settings
from tests.support.proxy import Proxy

NAMESPACES: Final = Kind("v1", "Namespace", "namespaces")
STABLE: Final = 1.5
"""Seconds for which an end has to hold; what is due later (the back-off of a retry, a name that leaves) is awaited."""
_PATIENCE: Final = 90.0


@dataclass(frozen=True)
class Ended:
    """How a run ended. `writes` are those of the act; `reached`: the fault took place."""

    state: Snapshot
    accessories: Snapshot
    writes: int
    reached: bool


class Sweep:
    """Runs of scenarios on one control plane, beside each other, each in a namespace of its own."""

    def __init__(self, proxy: Proxy, api: ApiServer, feed: Feed, kubelet: Kubelet, at_once: int) -> None:
        self._proxy = proxy
        self._api = api
        self._feed = feed
        self._kubelet = kubelet
        self._slots = asyncio.Semaphore(at_once)

    async def undisturbed(self, scenario: Scenario) -> Ended:
        """The run that others are compared with."""
        async with self._slots, self._world(scenario, "calm") as (namespace, operator):
            await scenario.act(self._api, namespace)
            state = await self._settle(namespace, scenario.done)
            return await self._ended(namespace, state, operator.kube.writes, reached=True)

    async def killed(self, scenario: Scenario, write: int, wanted: Ended) -> Ended:
        """The operator dies after its `write`-th write, and another is started."""
        async with self._slots, self._world(scenario, f"kill-{write}") as (namespace, operator):
            operator.kube.die_after(write)
            await scenario.act(self._api, namespace)
            await self._until(namespace, lambda: operator.kube.died.is_set() or self._same(namespace, wanted))
            if operator.kube.died.is_set():
                await operator.end()
                async with self._operator(namespace):
                    return await self._end(namespace, wanted, operator)
            return await self._end(namespace, wanted, operator)

    async def unanswered(self, scenario: Scenario, write: int, wanted: Ended) -> Ended:
        """The API server's answer to the `write`-th write gets lost."""
        async with self._slots, self._world(scenario, f"lost-{write}") as (namespace, operator):
            dropped: list[int] = []

            def mine(seen: Seen) -> bool:
                return seen.write and seen.namespace == namespace and seen.resource != "pods/status"

            await scenario.act(self._api, namespace)
            with self._proxy.fault(nth(write, mine, Drop(dropped.append))):
                ended = await self._end(namespace, wanted, operator)
            return Ended(ended.state, ended.accessories, ended.writes, bool(dropped))

    @asynccontextmanager
    async def _world(self, scenario: Scenario, run: str) -> AsyncIterator[tuple[str, Mortal]]:
        """A namespace in which the model of before serves, and its operator."""
        namespace = scenario.namespace(f"{run}-{secrets.token_hex(3)}")
        await self._api.create(NAMESPACES, {"metadata": {"name": namespace}})
        async with self._operator(namespace) as operator:
            if scenario.before is not None:
                await create(**scenario.before)(self._api, namespace)
                await self._settle(namespace, READY)
            operator.kube.die_after(0)
            yield namespace, operator
        await self._api.delete(NAMESPACES, "", namespace, uid=await self._uid(namespace))

    @asynccontextmanager
    async def _operator(self, namespace: str) -> AsyncIterator[Mortal]:
        operator = Mortal(self._api, self._feed, namespace, _settings(namespace), self._kubelet.fetch)
        await operator.start()
        try:
            yield operator
        finally:
            await operator.end()

    async def _end(self, namespace: str, wanted: Ended, operator: Mortal) -> Ended:
        """Wait for the wanted end, and see that it holds."""
        try:
            await self._until(namespace, lambda: self._same(namespace, wanted))
            await asyncio.sleep(STABLE)
            assert self._same(namespace, wanted)
        except AssertionError as error:
            raise AssertionError(_difference(wanted.state, snapshot(self._feed, namespace))) from error
        reached = operator.kube.died.is_set()
        return await self._ended(namespace, snapshot(self._feed, namespace), operator.kube.writes, reached=reached)

    async def _settle(self, namespace: str, done: Done) -> Snapshot:
        """Wait until the model is as it is to be, and nothing changes any more."""
        await self._until(namespace, lambda: done(self._model(namespace)))
        seen: list[tuple[float, Snapshot]] = []
        loop = asyncio.get_running_loop()

        def rests() -> bool:
            state = snapshot(self._feed, namespace)
            if not seen or seen[-1][1] != state:
                seen.append((loop.time(), state))
            held = loop.time() - seen[-1][0] > STABLE and done(self._model(namespace))
            return held and not self._leaving(namespace)

        await self._until(namespace, rests)
        return seen[-1][1]

    async def _ended(self, namespace: str, state: Snapshot, writes: int, *, reached: bool) -> Ended:
        return Ended(state, await accessories(self._api, namespace), writes, reached)

    async def _until(self, namespace: str, probe: Any) -> None:
        await eventually_async(probe, _PATIENCE)

    def _same(self, namespace: str, wanted: Ended) -> bool:
        return snapshot(self._feed, namespace) == wanted.state

    def _leaving(self, namespace: str) -> bool:
        """Whether something has yet to go: a slow end is not a state that holds, however long nothing changes."""
        here = [obj for kind in CACHED for obj in self._feed.of(kind, namespace)]
        return any("deletionTimestamp" in obj["metadata"] or self._model(namespace) is None for obj in here)

    def _model(self, namespace: str) -> Object | None:
        return self._feed.objects[MODELS].get((namespace, NAME))

    async def _uid(self, namespace: str) -> str:
        found: str = (await self._api.get(NAMESPACES, "", namespace))["metadata"]["uid"]
        return found


@asynccontextmanager
async def sweeping(proxy: Proxy, kubeconfig: Path, folder: Path, at_once: int) -> AsyncIterator[Sweep]:
    """A sweep through a proxy that has the admin's rights."""
    api = await ApiServer.connect(Credentials(proxy.kubeconfig(kubeconfig, folder / "sweep.kubeconfig")))
    feed = Feed(proxy.url)
    kubelet = Kubelet(proxy.url, feed)
    watching = asyncio.create_task(feed.run())
    try:
        begun = asyncio.create_task(feed.begun())
        await asyncio.wait([begun, watching], return_when=asyncio.FIRST_COMPLETED)
        if watching.done():
            watching.result()
        yield Sweep(proxy, api, feed, kubelet, at_once)
    finally:
        await kubelet.close()
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        await api.close()


def _settings(namespace: str) -> Settings:
    """The chart's, with pods that need next to nothing."""
    chosen = operator_settings(namespace)
    chosen["profiles"]["nvidia"]["resources"] = {"limits": {"nvidia.com/gpu": 0}, "requests": {}}
    return file.parse(yaml.safe_dump(chosen))


def _difference(wanted: Snapshot, found: Snapshot) -> str:
    before, after = (json.dumps(one, indent=1, sort_keys=True).splitlines() for one in (wanted, found))
    return "\n".join(unified_diff(before, after, "undisturbed", "disturbed", lineterm="", n=2))
