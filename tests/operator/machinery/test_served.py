"""Which of the watched namespaces are served."""

import asyncio

from arriero_operator.cache.store import CACHED, Cache
from arriero_operator.kube.protocol import MODELS
from arriero_operator.process.namespaces import only_served
from arriero_operator.watching.served import Served
from arriero_operator.work.keys import Key
from arriero_operator.work.result import Result
from tests.operator.machinery.objects import make


def test_one_of_several_can_be_lost_and_the_last_one_cannot() -> None:
    served = Served(("a", "b"))
    assert served.lose("a", "gone")
    assert served.lose("a", "refused again")
    assert (served.there(), served.lost) == (("b",), {"a": "gone"})
    assert not served.lose("b", "gone")
    served.regain("a")
    assert served.there() == ("a", "b")


def test_where_all_namespaces_are_watched_or_one_alone_none_can_be_lost() -> None:
    assert not Served(()).lose("a", "gone")
    assert not Served(("a",)).lose("a", "gone")


async def test_who_waits_for_a_change_is_woken_by_each() -> None:
    served = Served(("a", "b"))
    lost = asyncio.create_task(served.until("a", served=False))
    await asyncio.sleep(0)
    assert not lost.done()
    served.lose("a", "gone")
    await lost
    back = asyncio.create_task(served.until("a", served=True))
    await asyncio.sleep(0)
    assert not back.done()
    served.regain("a")
    await back


async def test_models_of_a_lost_namespace_are_not_reconciled() -> None:
    seen: list[Key] = []

    async def reconcile(key: Key) -> Result:
        seen.append(key)
        return Result(1.0)

    served = Served(("a", "b"))
    guarded = only_served(reconcile, served)
    served.lose("a", "gone")
    assert await guarded(("a", "tiny")) == Result()
    assert await guarded(("b", "tiny")) == Result(1.0)
    assert seen == [("b", "tiny")]


def test_what_is_forgotten_of_a_namespace_counts_when_it_is_told_again() -> None:
    cache = Cache()
    for namespace in ("a", "b"):
        assert cache.put(MODELS, make(MODELS, "tiny", 5, namespace=namespace))
    cache.forget("a")
    assert [model["metadata"]["namespace"] for model in cache.models()] == ["b"]
    assert sum(map(cache.count, CACHED)) == 1
    assert cache.put(MODELS, make(MODELS, "tiny", 5, namespace="a"))
    assert len(cache.models()) == 2
