"""Watches of references, one for each kind and namespace, take nothing from requests and the Lease."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from arriero_operator.kube.adapter import ApiServer
from arriero_operator.kube.protocol import CONFIG_MAPS, Object, Scope
from arriero_operator.process.lease import Lease
from tests.operator.machinery.test_adapter import config_map

pytestmark = pytest.mark.control_plane

MANY = 120
"""More than a client of aiohttp has connections by itself."""


async def test_a_hundred_and_twenty_open_watches_hold_up_neither_a_request_nor_the_lease(
    kube: ApiServer, namespace: str
) -> None:
    scope = Scope(CONFIG_MAPS, namespace, metadata_only=True)
    version = [version async for version, _ in kube.listing(scope)][-1]
    watches = [kube.watch(scope, version, seconds=60, silence=60) for _ in range(MANY)]
    told = [asyncio.create_task(_named(one, "new"), name="watch") for one in watches]
    await asyncio.sleep(0)  # all have asked for a connection before anybody else does
    try:
        async with asyncio.timeout(20):
            lease = Lease(kube, namespace, "arriero-operator", "a")
            await lease.acquire()
            await kube.create(CONFIG_MAPS, config_map(namespace, "new"))
            found = await asyncio.gather(*told)
            assert {one["type"] for one in found} == {"ADDED"}
            assert not any("data" in one["object"] for one in found), "metadata alone was asked for"
            await lease.release()
    finally:
        for task in told:
            task.cancel()
        await asyncio.gather(*told, return_exceptions=True)
        for watch in watches:
            await watch.aclose()


async def _named(watch: AsyncIterator[Object], name: str) -> Object:
    async for event in watch:
        if event["object"]["metadata"]["name"] == name:
            return event
    raise AssertionError("the watch has ended")
