"""Deleted models are told of once, each by itself, also where another has come under the name."""

from collections.abc import Mapping
from typing import Any

from arriero_api.contract import Shutdown
from arriero_operator.cache.store import Cache
from arriero_operator.kube.protocol import EVENTS, PODS, Kind, Object, Objects
from arriero_operator.reconcile.farewells import LOOK_AGAIN, Farewells
from arriero_operator.render import names
from tests.support.unasked import Unasked

KEY = ("team", "tiny")


class FakeKube(Unasked):
    """Takes Events, and nothing else."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.messages: list[str] = []

    async def create(self, kind: Kind, obj: Object) -> Object:
        """As Kube.create."""
        assert kind is EVENTS
        self.events.append((obj["involvedObject"]["uid"], obj["reason"]))
        self.messages.append(obj["message"])
        return obj

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        """Not needed here."""
        raise NotImplementedError

    async def list(
        self, kind: Kind, namespace: str | None = None, labels: str = "", metadata_only: bool = False
    ) -> Objects:
        """Not needed here."""
        raise NotImplementedError

    async def apply(
        self, kind: Kind, obj: Object, *, manager: str, force: bool = True, subresource: str = ""
    ) -> Object:
        """Not needed here."""
        raise NotImplementedError

    async def merge_patch(self, kind: Kind, namespace: str, name: str, patch: Mapping[str, Any]) -> Object:
        """Not needed here."""
        raise NotImplementedError

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str) -> None:
        """Not needed here."""
        raise NotImplementedError


class World:
    """Models and pods as the cache sees them."""

    def __init__(self) -> None:
        self.kube, self.cache = FakeKube(), Cache()
        self.farewells = Farewells(self.kube, self.cache, lambda: "2026-01-01T00:00:00Z")
        self._version = 0

    def model(self, uid: str) -> None:
        """The model of that uid is seen."""
        self.farewells.seen({"metadata": {"namespace": KEY[0], "name": KEY[1], "uid": uid}})

    def pod(self, name: str, deleting: bool = False, said: Shutdown | None = None) -> None:
        """The pod is seen, its container ended where it `said` something."""
        self._version += 1
        metadata = {
            "namespace": KEY[0],
            "name": name,
            "uid": f"uid-{name}",
            "resourceVersion": str(self._version),
            "labels": names.child_labels(KEY[1]),
            "annotations": names.child_annotations(KEY[1]),
        }
        ended = {"name": "runtime", "state": {"terminated": {"exitCode": 0, "message": said.to_json()}}} if said else {}
        seen = {"metadata": metadata | ({"deletionTimestamp": "t"} if deleting else {})}
        self.cache.put(PODS, seen | {"status": {"containerStatuses": [ended] if ended else []}})

    def end(self, name: str) -> None:
        """The pod is gone."""
        self.cache.drop(PODS, KEY[0], name, f"uid-{name}")


async def test_a_deleted_model_is_followed_until_its_last_pod_has_ended() -> None:
    world = World()
    world.pod("a")
    world.model("one")
    assert await world.farewells.follow(KEY, "one") is None
    assert await world.farewells.follow(KEY) == LOOK_AGAIN
    world.pod("a", deleting=True)
    assert await world.farewells.follow(KEY) == LOOK_AGAIN
    world.end("a")
    assert await world.farewells.follow(KEY) is None
    assert await world.farewells.follow(KEY) is None
    assert world.kube.events == [("one", "ShutdownStarted"), ("one", "ShutdownComplete")]


async def test_a_model_that_is_made_anew_while_old_pods_drain_hides_no_farewell() -> None:
    world = World()
    world.pod("a")
    world.model("one")
    await world.farewells.follow(KEY)
    world.pod("a", deleting=True)
    world.model("two")
    assert await world.farewells.follow(KEY, "two") == LOOK_AGAIN
    world.pod("b")
    world.model("two")
    world.end("a")
    assert await world.farewells.follow(KEY, "two") is None
    await world.farewells.follow(KEY)
    world.end("b")
    await world.farewells.follow(KEY)
    assert world.kube.events == [
        ("one", "ShutdownStarted"),
        ("one", "ShutdownComplete"),
        ("two", "ShutdownStarted"),
        ("two", "ShutdownComplete"),
    ]


async def test_a_deletion_that_is_noticed_only_by_the_new_model_is_told_too() -> None:
    world = World()
    world.pod("a")
    world.model("one")
    world.model("two")
    assert await world.farewells.follow(KEY, "two") == LOOK_AGAIN
    assert world.kube.events == []
    world.pod("a", deleting=True)
    await world.farewells.follow(KEY, "two")
    world.end("a")
    assert await world.farewells.follow(KEY, "two") is None
    assert world.kube.events == [("one", "ShutdownStarted"), ("one", "ShutdownComplete")]


async def test_what_the_pods_said_of_their_requests_is_added_up_and_who_said_nothing_is_counted() -> None:
    world = World()
    for name in "abc":
        world.pod(name)
    world.model("one")
    await world.farewells.follow(KEY)
    world.pod("a", deleting=True, said=Shutdown(3, 1))
    world.end("a")
    await world.farewells.follow(KEY)
    world.pod("b", deleting=True, said=Shutdown(4, 0))
    world.end("b")
    world.end("c")
    await world.farewells.follow(KEY)
    assert "7 completed, 1 aborted; 1 pod did not say." in world.kube.messages[-1]


async def test_pods_that_ended_while_the_model_was_wanted_do_not_count() -> None:
    world = World()
    world.pod("a")
    world.pod("b")
    world.model("one")
    world.pod("a", said=Shutdown(3, 1))
    world.end("a")
    world.model("one")
    await world.farewells.follow(KEY)
    world.pod("b", said=Shutdown(1, 0))
    world.end("b")
    await world.farewells.follow(KEY)
    assert world.kube.messages[-1].endswith("1 completed, 0 aborted.")


async def test_a_model_without_pods_goes_without_a_word() -> None:
    world = World()
    world.model("one")
    assert await world.farewells.follow(KEY) is None
    assert world.kube.events == []
