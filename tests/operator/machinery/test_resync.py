"""The repair of what a watch lost, against a real API server; the cache is set up as a lost event would leave it."""

import pytest

from arriero_api import labels
from arriero_operator.cache.kube import CachedKube
from arriero_operator.cache.store import Cache
from arriero_operator.kube.adapter import ApiServer
from arriero_operator.kube.errors import NotFound
from arriero_operator.kube.protocol import CONFIG_MAPS, MODELS, Object
from arriero_operator.watching.resync import Resync
from arriero_operator.watching.served import Served
from arriero_operator.work.keys import Key

pytestmark = pytest.mark.control_plane


class Watchless:
    """A cache that is filled, and no watch that would keep it so."""

    def __init__(self, kube: ApiServer, namespace: str) -> None:
        self.cache = Cache()
        self.keys: list[Key] = []
        self.repaired: list[str] = []
        cached = CachedKube(kube, self.cache)
        self.changes: list[Key] = []
        """Those of the keys that are not only to be looked at once more."""
        self.resync = Resync(cached, self.cache, self._enqueue, Served((namespace,)), self.repaired.append)

    def _enqueue(self, key: Key, *, routine: bool = False) -> None:
        self.keys.append(key)
        if not routine:
            self.changes.append(key)


def child(namespace: str, **data: str) -> Object:
    metadata = {
        "namespace": namespace,
        "name": "c",
        "labels": {labels.MANAGED_BY: labels.MANAGED_BY_VALUE, labels.MODEL: "m"},
        "annotations": {labels.OWNER: "m"},
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def model(namespace: str) -> Object:
    return {
        "apiVersion": labels.API_VERSION,
        "kind": labels.KIND,
        "metadata": {"namespace": namespace, "name": "m"},
        "spec": {"model": {"uri": "hf://a/b"}},
    }


async def test_the_first_filling_knows_everything_and_wakes_every_owner(kube: ApiServer, namespace: str) -> None:
    await kube.create(MODELS, model(namespace))
    await kube.create(CONFIG_MAPS, child(namespace))
    world = Watchless(kube, namespace)
    await world.resync.prime()
    assert world.resync.synced
    assert world.cache.get(MODELS, namespace, "m")
    assert [obj["metadata"]["name"] for obj in world.cache.children(CONFIG_MAPS, namespace, "m")] == ["c"]
    assert set(world.keys) == {(namespace, "m")}


async def test_at_the_start_a_model_that_was_changed_meanwhile_does_not_wait_for_those_at_rest(
    kube: ApiServer, namespace: str
) -> None:
    for name in ("m", "rest"):
        made = model(namespace)
        made["metadata"]["name"] = name
        made = await kube.create(MODELS, made)
        status = {"metadata": {"namespace": namespace, "name": name}, "status": {"observedGeneration": 1}}
        await kube.apply(MODELS, status, manager="arriero", subresource="status")
    await kube.merge_patch(MODELS, namespace, "m", {"spec": {"replicas": 2}})
    await kube.create(CONFIG_MAPS, child(namespace))
    world = Watchless(kube, namespace)
    await world.resync.prime()
    assert world.changes == [(namespace, "m")]
    assert (namespace, "rest") in world.keys


async def test_a_lost_deletion_is_noticed(kube: ApiServer, namespace: str) -> None:
    created = await kube.create(CONFIG_MAPS, child(namespace))
    world = Watchless(kube, namespace)
    await world.resync.prime()
    world.keys.clear()
    world.changes.clear()
    await kube.delete(CONFIG_MAPS, namespace, "c", uid=created["metadata"]["uid"])
    await world.resync.repair()
    assert world.cache.get(CONFIG_MAPS, namespace, "c") is None
    assert world.repaired == ["ConfigMap"]
    assert world.keys == [(namespace, "m")]
    assert world.changes == [(namespace, "m")]


async def test_a_lost_change_and_a_lost_creation_are_fetched(kube: ApiServer, namespace: str) -> None:
    await kube.create(CONFIG_MAPS, child(namespace, one="1"))
    world = Watchless(kube, namespace)
    await world.resync.prime()
    await kube.merge_patch(CONFIG_MAPS, namespace, "c", {"data": {"one": "2"}})
    await kube.create(MODELS, model(namespace))
    await world.resync.repair()
    found = world.cache.get(CONFIG_MAPS, namespace, "c")
    assert found is not None
    assert found["data"] == {"one": "2"}
    assert world.cache.get(MODELS, namespace, "m")
    assert sorted(world.repaired) == ["ConfigMap", "InferenceModel"]


async def test_where_nothing_was_lost_nothing_is_fetched_but_every_model_is_looked_at(
    kube: ApiServer, namespace: str
) -> None:
    await kube.create(MODELS, model(namespace))
    await kube.create(CONFIG_MAPS, child(namespace))
    world = Watchless(kube, namespace)
    await world.resync.prime()
    world.keys.clear()
    world.changes.clear()
    await world.resync.repair()
    assert world.repaired == []
    assert world.keys == [(namespace, "m")]
    assert world.changes == []


async def test_what_the_operator_writes_it_sees_at_once(kube: ApiServer, namespace: str) -> None:
    cache = Cache()
    cached = CachedKube(kube, cache)
    await cached.apply(CONFIG_MAPS, child(namespace, one="1"), manager="arriero")
    await cached.merge_patch(CONFIG_MAPS, namespace, "c", {"data": {"one": "2"}})
    found = cache.get(CONFIG_MAPS, namespace, "c")
    assert found is not None
    assert found["data"] == {"one": "2"}
    assert "managedFields" not in found["metadata"]
    await cached.delete(CONFIG_MAPS, namespace, "c", uid=found["metadata"]["uid"])
    assert cache.get(CONFIG_MAPS, namespace, "c") is None


async def test_a_foreign_object_that_is_read_is_not_taken_for_a_child(kube: ApiServer, namespace: str) -> None:
    cache = Cache()
    foreign = child(namespace)
    del foreign["metadata"]["labels"]
    await kube.create(CONFIG_MAPS, foreign)
    assert await CachedKube(kube, cache).get(CONFIG_MAPS, namespace, "c")
    assert cache.get(CONFIG_MAPS, namespace, "c") is None


async def test_an_object_that_is_found_gone_leaves_the_cache(kube: ApiServer, namespace: str) -> None:
    cache = Cache()
    cached = CachedKube(kube, cache)
    created = await cached.create(CONFIG_MAPS, child(namespace))
    await kube.delete(CONFIG_MAPS, namespace, "c", uid=created["metadata"]["uid"])
    with pytest.raises(NotFound):
        await cached.get(CONFIG_MAPS, namespace, "c")
    assert cache.get(CONFIG_MAPS, namespace, "c") is None
