"""Watches of references, one for each kind and namespace, take nothing from requests and the Lease."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from arriero_operator.kube.adapter import ApiServer
from arriero_operator.kube.protocol import CONFIG_MAPS, Object
from arriero_operator.lease import Lease
from tests.operator.machinery.test_adapter import config_map

pytestmark = pytest.mark.control_plane

MANY = 120
"""More than a client of aiohttp has connections by itself."""


async def test_a_hundred_and_twenty_open_watches_hold_up_neither_a_request_nor_the_lease(
    kube: ApiServer, namespace: str
) -> None:
    watches = [aiter(kube.follow(CONFIG_MAPS, namespace)) for _ in range(MANY)]
    assert {one["type"] for one in await asyncio.gather(*map(anext, watches))} == {"LISTED"}
    told = [asyncio.create_task(_named(one, "new"), name="watch") for one in watches]
    await asyncio.sleep(0)  # all have asked for a connection before anybody else does
    try:
        async with asyncio.timeout(20):
            lease = Lease(kube, namespace, "arriero-operator", "a")
            await lease.acquire()
            await kube.create(CONFIG_MAPS, config_map(namespace, "new"))
            assert {one["type"] for one in await asyncio.gather(*told)} == {"ADDED"}
            await lease.release()
    finally:
        for task in told:
            task.cancel()
        await asyncio.gather(*told, return_exceptions=True)
        for watch in watches:
            await watch.aclose()  # type: ignore[attr-defined]


async def _named(watch: AsyncIterator[Object], name: str) -> Object:
    async for event in watch:
        if event["object"]["metadata"]["name"] == name:
            return event
    raise AssertionError("the watch has ended")
