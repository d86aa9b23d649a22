"""A kind that is listed and followed: where it goes on, what it does when it may not, and when it gives up."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from itertools import pairwise

import pytest

from arriero_api import labels
from arriero_operator.cache.store import Cache
from arriero_operator.kube.errors import Expired, Forbidden, KubeError, Throttled, Unavailable
from arriero_operator.kube.protocol import SERVICES, Kind, Object, Objects, Scope
from arriero_operator.watching import follow as following
from arriero_operator.watching import watches
from arriero_operator.watching.follow import BACKOFFS, FOLLOWED, Child, follow, lists_at_once
from arriero_operator.watching.informer import Informer
from arriero_operator.watching.intake import Intake
from arriero_operator.watching.news import Expected
from arriero_operator.watching.watches import Watches
from tests.operator.machinery.objects import make
from tests.support.virtual_time import run_virtual

Step = Object | Exception | float
"""What comes on a stream: an event, its failure, or silence of so many seconds."""

GONE: Object = {"type": "ERROR", "object": {"code": 410, "message": "too old resource version"}}


def event(happened: str, name: str, version: int) -> Object:
    return {"type": happened, "object": make(SERVICES, name, version)}


def bookmark(version: int) -> Object:
    return {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(version)}}}


class Server:
    """Services; each stream plays the next of `streams`, and those after the last one are silent. Fake of the API
    server's edge."""

    def __init__(self, *streams: list[Step], lists: list[list[Object | KubeError]] | None = None) -> None:
        self.streams = list(streams)
        self.lists = list(lists or [])
        self.listed: list[float] = []
        self.watched: list[tuple[float, str]] = []
        self.relisted: list[Kind] = []
        """Kinds whose objects that went are to be asked for."""

    async def listing(self, scope: Scope) -> AsyncIterator[tuple[str, Objects]]:
        self.listed.append(now())
        for one in self.lists.pop(0) if self.lists else []:
            if isinstance(one, KubeError):
                raise one
            yield str(one.get("listed", 10)), [one]
        yield "10", []

    async def watch(self, scope: Scope, version: str, *, seconds: int, silence: float) -> AsyncGenerator[Object, None]:
        self.watched.append((now(), version))
        for step in self.streams.pop(0) if self.streams else [1e9]:
            if isinstance(step, Exception):
                raise step
            if isinstance(step, dict):
                yield step
            else:
                await asyncio.sleep(step)


def now() -> float:
    return round(asyncio.get_running_loop().time() - 1000, 3)


def woken(cache: Cache, keys: list[str]) -> Intake:
    """One that remembers whose model was to be reconciled."""
    return Intake(cache, Expected(), lambda key, routine=False: keys.append(key[1]), lambda _: None, lambda _: None)


class Play:
    """An informer of `server` that runs for `seconds`; then what it did is told."""

    def __init__(self, server: Server, seconds: float = 60.0, jitter: float = 1.0) -> None:
        self.cache = Cache()
        self.keys: list[str] = []
        self.relisted = server.relisted
        self.error: list[BaseException] = []
        run_virtual(self._run(server, seconds, jitter))

    async def _run(self, server: Server, seconds: float, jitter: float) -> None:
        signs = Watches(("team",))
        signs.on_relist(self.relisted.append)
        scope, intake = Scope(SERVICES, "team"), woken(self.cache, self.keys)
        one = Informer(server, scope, Child(scope, intake, signs), asyncio.Semaphore(1), jitter=lambda: jitter)
        task = asyncio.create_task(one.run())
        done, _ = await asyncio.wait([task], timeout=seconds)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        self.error = [failed for ended in done if (failed := ended.exception())]

    @property
    def known(self) -> list[str]:
        return sorted(one["metadata"]["name"] for one in self.cache.all(SERVICES))


def test_a_stream_that_ends_is_followed_by_one_from_where_it_was_and_no_list() -> None:
    server = Server([event("ADDED", "a", 11), bookmark(15), 300.0], [event("MODIFIED", "a", 16), 300.0], [1e9])
    play = Play(server, 700)
    assert server.listed == [0]
    assert server.watched == [(0, "10"), (300, "15"), (600, "16")]
    assert play.known == ["a"]
    assert play.relisted == []


@pytest.mark.parametrize("told", [GONE, Expired("too old", 410)], ids=["by an event", "by the answer"])
def test_a_forgotten_place_is_listed_anew_and_what_went_meanwhile_is_asked_for(told: Object | KubeError) -> None:
    server = Server(
        [5.0, told], [1e9], lists=[[make(SERVICES, "a", 1), make(SERVICES, "b", 2)], [make(SERVICES, "a", 1)]]
    )
    play = Play(server)
    assert server.listed == [0, 6]
    assert server.watched == [(0, "10"), (6, "10")]
    assert play.relisted == [SERVICES]


def test_a_server_that_forgets_every_place_is_not_asked_for_lists_without_end() -> None:
    gone: list[list[Step]] = [[GONE]] * 20
    server = Server(*gone)
    play = Play(server, 600)
    assert [type(one) for one in play.error] == [Unavailable]
    assert len(server.listed) == len(BACKOFFS) + 1
    assert server.listed[-1] == sum(BACKOFFS)


def test_what_went_while_a_new_list_was_waited_for_is_asked_for_after_it() -> None:
    class Slow(Server):
        async def listing(self, scope: Scope) -> AsyncIterator[tuple[str, Objects]]:
            if self.listed:
                await asyncio.sleep(30)
            async for found in super().listing(scope):
                yield found
                assert not self.relisted

    server = Slow([5.0, GONE], [1e9])
    assert Play(server).relisted == [SERVICES]
    assert server.watched[-1] == (36, "10")


def test_replicas_do_not_list_anew_in_step() -> None:
    server = Server([5.0, GONE], [1e9])
    Play(server, jitter=0.25)
    assert server.listed == [0, 5.25]


def test_a_list_whose_pages_are_of_two_versions_or_that_broke_off_has_what_went_asked_for() -> None:
    expired = make(SERVICES, "a", 1) | {"listed": 8}
    assert Play(Server(lists=[[expired, make(SERVICES, "b", 2)]])).relisted == [SERVICES]
    broken = Server(lists=[[make(SERVICES, "a", 1), Unavailable("away")], [make(SERVICES, "b", 1)]])
    assert Play(broken).relisted == [SERVICES]
    assert broken.listed == [0, 1]
    assert Play(Server(lists=[[Unavailable("away")], [make(SERVICES, "b", 1)]])).relisted == []


def test_a_stream_that_is_cut_after_it_told_something_is_begun_anew_at_once() -> None:
    cut = Unavailable("the watch has ended")
    streams: list[list[Step]] = [[event("ADDED", "a", 11 + number), cut] for number in range(20)]
    server = Server(*streams, [1e9])
    Play(server)
    assert [when for when, _ in server.watched] == [0] * 21
    assert server.watched[-1] == (0, "30")


def test_what_fails_for_about_a_minute_is_raised_and_the_waits_grow() -> None:
    fails: list[list[Step]] = [[Unavailable("no connection")]] * 20
    server = Server(*fails)
    play = Play(server, 600)
    assert [type(one) for one in play.error] == [Unavailable]
    waits = [round(then - before) for (before, _), (then, _) in pairwise(server.watched)]
    assert waits == list(BACKOFFS)
    assert server.listed == [0], "the place is not lost by that"


def test_jitter_shortens_a_wait_by_at_most_a_half_and_a_servers_own_wish_is_kept() -> None:
    server = Server([Unavailable("away")], [Throttled("busy", 429, 7.0)], [1e9])
    Play(server, jitter=0.0)
    assert [when for when, _ in server.watched] == [0, 0.5, 7.5]


def test_streams_that_end_at_once_and_tell_nothing_are_not_begun_without_end() -> None:
    server = Server(*([[]] * 100))
    play = Play(server, 600)
    assert [type(one) for one in play.error] == [Unavailable]
    assert len(server.watched) == len(BACKOFFS) + 1


def test_a_success_forgets_the_failures_before() -> None:
    fails: list[list[Step]] = [[Unavailable("away")]] * len(BACKOFFS)
    server = Server(*fails, [2.0], *fails, [1e9])
    assert Play(server, 600).error == []


@pytest.mark.parametrize("error", [Forbidden("no", 403), KeyError("a fault of ours")], ids=repr)
def test_an_error_that_no_other_try_mends_is_raised_at_once_also_after_an_event(error: Exception) -> None:
    server = Server([event("ADDED", "a", 11), error])
    assert Play(server).error == [error]
    assert len(server.watched) == 1


def test_an_error_of_the_stream_that_is_not_its_place_is_tried_again_from_there() -> None:
    server = Server([event("ADDED", "a", 11), {"type": "ERROR", "object": {"code": 500, "message": "etcd"}}], [1e9])
    Play(server)
    assert server.listed == [0]
    assert server.watched == [(0, "10"), (0, "11")]


def test_deletions_reach_the_cache_and_bookmarks_wake_nobody() -> None:
    told = [event("ADDED", "a", 11), event("ADDED", "b", 12), bookmark(13), event("DELETED", "a", 14)]
    for one in (told[0], told[1], told[3]):
        one["object"]["metadata"]["annotations"] = {labels.OWNER: one["object"]["metadata"]["name"]}
    play = Play(Server([*told, 1e9]))
    assert play.known == ["b"]
    assert play.keys == ["a", "b", "a"]


async def test_every_kind_but_the_models_is_followed_in_every_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = set[tuple[str, str]]()

    class Counted(Informer):
        async def run(self) -> None:
            begun.add((self._scope.kind.kind, self._scope.namespace))

    monkeypatch.setattr(following, "Informer", Counted)
    for place in ("a", "b"):
        await follow(Server(), place, "", woken(Cache(), []), Watches(("a", "b")), lists_at_once())
    assert begun == {(kind.kind, place) for kind in FOLLOWED for place in ("a", "b")}
    assert max(watches.STREAM) + watches.INACTIVITY + sum(BACKOFFS) < watches.DEAF
