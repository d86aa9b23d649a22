"""References are followed without a read at rest, over ends of the watch, and only as far as the chart allows."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest

from arriero_api.types import Spec
from arriero_operator.configuration.limits import Reads
from arriero_operator.kube.errors import Forbidden, NotFound, Unavailable
from arriero_operator.kube.protocol import Kind, Object, Objects, Scope
from arriero_operator.planning.outside import Outside
from arriero_operator.render.credentials import needed
from arriero_operator.render.references import Reference, references
from tests.support.eventually import eventually_async
from tests.support.virtual_time import run_virtual

KEY = ("team", "tiny")
LEVEL = Reference("ConfigMap", "tuning", "level")


class Server:
    """An API server that knows single objects and lets the test speak in its watches, which begin with what has changed
    since the version that they are to go on from. Fake of the API server's edge."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Object] = {}
        self.gets: list[tuple[str, str]] = []
        self.lists = 0
        self.watched: list[int] = []
        """From which versions."""
        self.away: asyncio.Event | None = None
        """Lists cannot be had until this is set; `hangs`: they are not answered either."""
        self.hangs = False
        self.events: asyncio.Queue[Object | Exception | None] = asyncio.Queue()

    def put(self, name: str, version: int, kind: str = "ConfigMap", **rest: Any) -> Object:
        """Make or change an object; its metadata as a watch tells them."""
        metadata = {"name": name, "resourceVersion": str(version)}
        self.objects[(kind, name)] = {"metadata": metadata, **rest}
        return {"metadata": metadata}

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        self.gets.append((kind.kind, name))
        if (kind.kind, name) not in self.objects:
            raise NotFound("not there")
        return self.objects[(kind.kind, name)]

    async def listing(self, scope: Scope) -> AsyncIterator[tuple[str, Objects]]:
        assert scope.metadata_only
        self.lists += 1
        if self.away is not None and not self.away.is_set():
            if not self.hangs:
                raise Unavailable("away")
            await self.away.wait()
        mine = self._newer(scope.kind, 0)
        version = max((int(one["metadata"]["resourceVersion"]) for one in mine), default=1)
        for one in mine:
            yield str(version), [one]
        yield str(version), []

    async def watch(self, scope: Scope, version: str, *, seconds: int, silence: float) -> AsyncGenerator[Object, None]:
        assert scope.metadata_only
        self.watched.append(int(version))
        for one in self._newer(scope.kind, int(version)):
            yield {"type": "MODIFIED", "object": one}
        while (event := await self.events.get()) is not None:
            if isinstance(event, Exception):
                raise event
            yield event

    def _newer(self, kind: Kind, version: int) -> Objects:
        mine = [{"metadata": one["metadata"]} for (of, _), one in self.objects.items() if of == kind.kind]
        return [one for one in mine if int(one["metadata"]["resourceVersion"]) > version]


def outside(server: Server, changed: list[Any], **reads: bool) -> Outside:
    """What is under test."""
    return Outside(server, Reads(**reads), changed.append, asyncio.get_running_loop().time)  # type: ignore[arg-type]


async def test_an_object_is_read_once_for_each_of_its_versions_and_a_change_is_told() -> None:
    server, changed = Server(), list[Any]()
    server.put("tuning", 1, data={"level": "1", "other": "1"})
    found = outside(server, changed)
    first = await found.look(KEY, [LEVEL], 1)
    assert (await found.look(KEY, [LEVEL], 1)).contents == first.contents
    assert len(server.gets) == 1
    changed.clear()
    server.events.put_nowait({"type": "MODIFIED", "object": server.put("tuning", 2, data={"level": "1", "other": "2"})})
    await eventually_async(lambda: KEY in changed)
    assert (await found.look(KEY, [LEVEL], 1)).contents == first.contents
    server.events.put_nowait({"type": "MODIFIED", "object": server.put("tuning", 3, data={"level": "2"})})
    await eventually_async(lambda: changed.count(KEY) == 2)
    assert (await found.look(KEY, [LEVEL], 1)).contents != first.contents
    assert len(server.gets) == 3
    server.events.put_nowait({"type": "DELETED", "object": server.put("tuning", 4)})
    await eventually_async(lambda: changed.count(KEY) == 3)
    assert (await found.look(KEY, [LEVEL], 1)).missing == ("ConfigMap 'tuning', key 'level'",)
    found.forget(KEY)


@pytest.mark.parametrize("end", [None, Unavailable("away"), {"type": "ERROR", "object": {}}], ids=str)
def test_what_changed_between_two_watches_is_seen_without_a_new_list(end: Any) -> None:
    async def main() -> None:
        server, changed = Server(), list[Any]()
        server.put("tuning", 1, data={"level": "1"})
        found = outside(server, changed)
        first = await found.look(KEY, [LEVEL], 1)
        changed.clear()
        server.events.put_nowait({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "5"}}})
        await asyncio.sleep(1)
        server.put("tuning", 7, data={"level": "2"})
        server.events.put_nowait(end)
        await eventually_async(lambda: KEY in changed, 30)
        assert (await found.look(KEY, [LEVEL], 1)).contents != first.contents
        assert (server.lists, server.watched) == (1, [1, 5])
        found.forget(KEY)

    run_virtual(main())


FAILS = [{"type": "ERROR", "object": {"code": 500}}, Forbidden("no right", 403), KeyError("a fault of ours"), None]


@pytest.mark.parametrize("end", FAILS, ids=str)
def test_a_watch_that_is_refused_or_ends_again_and_again_is_begun_more_and_more_rarely_and_never_given_up(
    end: Any,
) -> None:
    async def main() -> None:
        server, changed = Server(), list[Any]()
        server.put("tuning", 1, data={"level": "1"})
        found = outside(server, changed)
        for _ in range(1000):
            server.events.put_nowait(end)
        await found.look(KEY, [LEVEL], 1)
        await asyncio.sleep(600)
        assert 10 < len(server.watched) < 30
        while not server.events.empty():
            server.events.get_nowait()
        server.put("tuning", 2, data={"level": "2"})
        await asyncio.sleep(60)  # at the latest then it lasts again
        assert KEY in changed
        for again in (1, 2):
            before = len(server.watched)
            server.events.put_nowait(None)
            await asyncio.sleep(0.01)
            assert len(server.watched) == before + 1, again
            await asyncio.sleep(300)
        found.forget(KEY)

    run_virtual(main())


def test_a_right_that_is_missing_and_then_given_is_used_without_a_new_start() -> None:
    async def main() -> None:
        server = Server()
        server.put("tuning", 1, data={"level": "1"})
        found = outside(server, [])
        server.events.put_nowait(Forbidden("no right to watch", 403))
        assert (await found.look(KEY, [LEVEL], 1)).missing == ()
        await asyncio.sleep(2)
        assert (server.lists, server.watched) == (2, [1, 1])
        assert (await found.look(KEY, [LEVEL], 1)).missing == ()
        found.forget(KEY)

    run_virtual(main())


@pytest.mark.parametrize("how", ["fails", "hangs"])
def test_a_list_that_is_not_to_be_had_is_waited_for_once_and_its_coming_is_told(how: str) -> None:
    async def main() -> None:
        server, changed, clock = Server(), list[Any](), asyncio.get_running_loop().time
        server.away = asyncio.Event()
        server.hangs = how == "hangs"
        found, waits = outside(server, changed), []
        for name in ("tiny", "other", "third", "tiny"):
            began = clock()
            with pytest.raises(Unavailable, match="configmaps of namespace team cannot be listed"):
                await found.look(("team", name), [LEVEL], 1)
            waits.append(clock() - began)
        assert waits == [5 if server.hangs else 0, 0, 0, 0]
        assert not changed
        server.away.set()
        await eventually_async(lambda: set(changed) == {("team", name) for name in ("tiny", "other", "third")}, 10)
        seen = await found.look(KEY, [LEVEL], 1)
        assert seen.missing == ("ConfigMap 'tuning', key 'level'",)
        for name in ("tiny", "other", "third"):
            found.forget(("team", name))

    run_virtual(main())


async def test_who_has_had_the_first_list_is_not_told_of_it_as_of_a_change() -> None:
    server, changed = Server(), list[Any]()
    found = outside(server, changed)
    await found.look(KEY, [LEVEL], 1)
    assert not changed
    found.forget(KEY)


@pytest.mark.parametrize("broken", [False, True], ids=["a list", "a list that broke off before it"])
def test_what_went_unseen_is_missing_once_a_forgotten_place_was_listed_anew(broken: bool) -> None:
    class Breaking(Server):
        async def listing(self, scope: Scope) -> AsyncIterator[tuple[str, Objects]]:
            async for found in super().listing(scope):
                yield found
                if broken and self.lists == 2:
                    self.objects.pop(("ConfigMap", "tuning"))
                    self.put("other", 9)
                    raise Unavailable("away")

    async def main() -> None:
        server, changed = Breaking(), list[Any]()
        server.put("tuning", 1, data={"level": "1"})
        found = outside(server, changed)
        assert (await found.look(KEY, [LEVEL], 1)).missing == ()
        if not broken:
            server.objects.clear()
        changed.clear()
        server.events.put_nowait({"type": "ERROR", "object": {"code": 410}})
        await eventually_async(lambda: KEY in changed, 30)
        assert server.lists == 2 + broken
        assert (await found.look(KEY, [LEVEL], 1)).missing != ()
        assert len(server.gets) == 1
        found.forget(KEY)

    run_virtual(main())


async def test_nobody_is_followed_any_more_once_no_model_refers_to_it() -> None:
    server, changed = Server(), list[Any]()
    found = outside(server, changed)
    await found.look(KEY, [LEVEL], 1)
    await found.look(("team", "other"), [LEVEL], 1)
    follower = next(iter(found._contents._followers.values()))
    found.forget(KEY)
    assert found._contents._followers
    found.forget(("team", "other"))
    assert not found._contents._followers
    await eventually_async(lambda: follower._task.cancelled())


async def test_secrets_and_classes_are_looked_at_only_where_the_chart_allows_it() -> None:
    server = Server()
    needed = [Reference("Secret", "hub", "token"), Reference("PriorityClass", "high")]
    assert (await outside(server, []).look(KEY, needed, 1)).missing == ()
    assert (server.gets, server.lists) == ([], 0)
    found = outside(server, [], secrets=True, classes=True)
    assert len((await found.look(KEY, needed, 1)).missing) == 2
    found.forget(KEY)


def test_a_missing_claim_is_looked_for_less_and_less_often_and_a_found_one_hardly_ever() -> None:
    async def main() -> None:
        server, needed = Server(), [Reference("PersistentVolumeClaim", "weights")]
        found = outside(server, [])
        waits = []
        for _ in range(6):
            seen = await found.look(KEY, needed, 1)
            assert seen.retry_after is not None
            waits.append(seen.retry_after)
            await asyncio.sleep(seen.retry_after)
        assert waits == [5, 10, 20, 40, 60, 60]
        server.put("weights", 1, "PersistentVolumeClaim", spec={"accessModes": ["ReadWriteOnce"]})
        for replicas, refused in ((1, False), (2, True)):
            assert ((await found.look(KEY, needed, replicas)).refused is not None) is refused
        assert len(server.gets) == 7

    run_virtual(main())


async def test_access_modes_of_a_claim_are_those_that_acceptance_has_seen_and_nothing_is_kept_of_others() -> None:
    server, needed = Server(), [Reference("PersistentVolumeClaim", "weights")]
    found = outside(server, [])
    assert await found.claim_modes("team", "weights") is None
    server.put("weights", 1, "PersistentVolumeClaim", spec={"accessModes": ["ReadWriteOnce"]})
    assert await found.claim_modes("team", "weights") == ("ReadWriteOnce",)
    await found.look(KEY, needed, 1)
    looks = len(server.gets)
    assert await found.claim_modes("team", "weights") == ("ReadWriteOnce",)
    assert len(server.gets) == looks
    found.forget(KEY)
    await found.claim_modes("team", "weights")
    assert len(server.gets) == looks + 1


def test_everything_that_a_pod_refers_to_is_found() -> None:
    found = references(
        {
            "spec": {
                "priorityClassName": "high",
                "runtimeClassName": "nvidia",
                "initContainers": [{"name": "a", "envFrom": [{"configMapRef": {"name": "m", "optional": True}}]}],
                "containers": [
                    {"name": "b", "env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}
                ],
                "volumes": [
                    {"name": "p", "persistentVolumeClaim": {"claimName": "c"}},
                    {"name": "q", "projected": {"sources": [{"secret": {"name": "t"}}]}},
                    {"name": "r", "secret": {"secretName": "u"}},
                    {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}},
                ],
            }
        },
        followed=["r"],
    )
    assert set(found) == {
        Reference("PriorityClass", "high"),
        Reference("RuntimeClass", "nvidia"),
        Reference("StorageClass", "fast"),
        Reference("ConfigMap", "m", optional=True),
        Reference("Secret", "s", "k"),
        Reference("Secret", "t"),
        Reference("Secret", "u", followed=True),
        Reference("PersistentVolumeClaim", "c"),
    }


LEFT: dict[str, tuple[dict[str, str] | None, bool]] = {
    "the documented key": ({"token": "a"}, True),
    "the name that the source's own tools use": ({"HF_TOKEN": "a"}, True),
    "a key of the connection": ({"ca.crt": "a"}, True),
    "another key": ({"password": "a"}, False),
    "no key": ({}, False),
    "no Secret": (None, False),
}


@pytest.mark.parametrize(("data", "there"), LEFT.values(), ids=LEFT)
async def test_a_secret_of_a_source_is_of_use_with(data: dict[str, str] | None, there: bool) -> None:
    server = Server()
    if data is not None:
        server.put("hub", 1, "Secret", data=data)
    spec = Spec.model_validate({"model": {"uri": "hf://a/b", "credentials": {"secretName": "hub"}}})
    found = await outside(server, [], secrets=True).look(KEY, needed(spec), 1)
    assert bool(found.missing) is not there
    assert not found.contents, "pods read it again by themselves"
    unread = Server()
    assert not (await outside(unread, []).look(KEY, needed(spec), 1)).missing
    assert unread.gets == []


def test_each_source_needs_its_own_keys_of_the_one_secret() -> None:
    shared = {"credentials": {"secretName": "all"}}
    adapters = [{"name": "fr", "uri": "s3://bucket/fr", **shared}, {"name": "de", "uri": "hf://a/de", **shared}]
    spec = Spec.model_validate({"model": {"uri": "hf://a/b", **shared}, "lora": {"adapters": adapters}})
    assert sorted(one.one_of[0] for one in needed(spec)) == ["accessKeyId", "token"]
    assert needed(Spec.model_validate({"model": {"uri": "hf://a/b"}})) == ()
