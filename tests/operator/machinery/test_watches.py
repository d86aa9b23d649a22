"""Signs of life of watches, in virtual time."""

import asyncio

from arriero_operator.cache.store import CACHED
from arriero_operator.kube.paths import path_of
from arriero_operator.kube.protocol import PODS, SERVICES, Kind
from arriero_operator.watching.watches import DEAF, Watches
from tests.support.virtual_time import run_virtual


def begin(watches: Watches, *namespaces: str, stream: bool = True) -> None:
    """Every watch lists, and streams."""
    for kind in CACHED:
        for namespace in namespaces or ("",):
            watches.requested(path_of(kind, namespace), stream=False)
            if stream:
                watches.requested(path_of(kind, namespace), stream=True)


def test_watches_have_begun_when_each_of_every_namespace_streams() -> None:
    async def main() -> None:
        watches = Watches(("a", "b"))
        begin(watches, "a")
        begin(watches, "b", stream=False)
        assert not watches.begun.is_set()
        begin(watches, "b")
        assert watches.begun.is_set()

    run_virtual(main())


def test_a_watch_that_begins_no_stream_any_more_is_named() -> None:
    async def main() -> None:
        watches = Watches(("a",))
        await asyncio.sleep(DEAF * 2)
        assert watches.deaf() == "", "what has not begun is not judged by this"
        begin(watches, "a")
        assert watches.deaf() == ""
        await asyncio.sleep(DEAF)
        for kind in CACHED:
            if kind is not PODS:
                watches.requested(path_of(kind, "a"), stream=True)
        await asyncio.sleep(1)
        assert watches.deaf() == "the watch of pods in namespace a has sent no request for 601 s"
        watches.requested(path_of(PODS, "a"), stream=True)
        assert watches.deaf() == ""

    run_virtual(main())


def test_a_list_after_a_stream_is_told_and_the_first_is_not() -> None:
    async def main() -> None:
        watches = Watches(())
        told: list[Kind] = []
        watches.on_relist(told.append)
        begin(watches)
        watches.requested(path_of(SERVICES, ""), stream=True)
        assert told == []
        watches.requested(f"/k8s/clusters/c-1{path_of(SERVICES, '')}", stream=False)
        assert told == [SERVICES]

    run_virtual(main())


def test_other_requests_are_no_sign_of_life() -> None:
    async def main() -> None:
        watches = Watches(("a",))
        begin(watches, "a")
        await asyncio.sleep(DEAF + 1)
        watches.requested("/version", stream=False)
        watches.requested(path_of(PODS, "b"), stream=True)
        assert watches.deaf()

    run_virtual(main())


def test_a_namespace_that_is_left_is_not_waited_for_and_is_doubted_when_it_is_entered_again() -> None:
    async def main() -> None:
        watches = Watches(("a", "b"))
        told: list[Kind] = []
        watches.on_relist(told.append)
        begin(watches, "a")
        watches.leave("b")
        assert watches.begun.is_set()
        begin(watches, "b")
        await asyncio.sleep(DEAF - 1)
        begin(watches, "a", stream=True)
        told.clear()
        await asyncio.sleep(2)
        assert watches.deaf() == ""
        watches.enter("b")
        assert set(told) == set(CACHED), "what went until then was told by nobody"
        begin(watches, "b")
        await asyncio.sleep(DEAF + 1)
        assert watches.deaf()

    run_virtual(main())
