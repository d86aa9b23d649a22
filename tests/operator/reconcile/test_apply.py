"""Children are applied when they differ, and only then; objects of others are left alone."""

import copy
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from arriero_api.types import Service
from arriero_operator.applying.apply import Applier
from arriero_operator.applying.parts import Part
from arriero_operator.applying.problems import ChildProblem, Leaving
from arriero_operator.cache.kube import CachedKube
from arriero_operator.cache.store import Cache
from arriero_operator.kube.errors import Conflict, Forbidden, Invalid, KubeError, NotFound
from arriero_operator.kube.protocol import MODELS, SERVICES, Kind, Object, Objects
from arriero_operator.render import service
from arriero_operator.render.owner import Owner
from tests.support.unasked import Unasked

OWNER = Owner("team", "tiny", "uid-1")


class FakeApiServer(Unasked):
    """One namespace of an API server: it keeps what is applied, and counts the writes."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Object] = {}
        self.writes = 0
        self.refuses: KubeError | None = None
        self._version = 0

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        """As Kube.get."""
        try:
            return self.objects[(kind.kind, name)]
        except KeyError:
            raise NotFound(name, 404) from None

    async def list(
        self, kind: Kind, namespace: str | None = None, labels: str = "", metadata_only: bool = False
    ) -> Objects:
        """As Kube.list, without a selector."""
        return [obj for (found, _), obj in self.objects.items() if found == kind.kind]

    async def create(self, kind: Kind, obj: Object) -> Object:
        """As Kube.create."""
        return self.put(kind, obj)

    async def apply(
        self, kind: Kind, obj: Object, *, manager: str, force: bool = True, subresource: str = ""
    ) -> Object:
        """As Kube.apply, for one manager."""
        if not force and (kind.kind, obj["metadata"]["name"]) in self.objects:
            raise Conflict("conflict with another manager", 409)
        self.writes += 1
        if self.refuses is not None:
            raise self.refuses
        return self.put(kind, obj)

    async def merge_patch(self, kind: Kind, namespace: str, name: str, patch: Mapping[str, Any]) -> Object:
        """Not needed here."""
        raise NotFound(name, 404)

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str) -> None:
        """As Kube.delete."""
        self.objects.pop((kind.kind, name), None)

    def put(self, kind: Kind, obj: Object) -> Object:
        """Keep the object as somebody wrote it."""
        self._version += 1
        kept = copy.deepcopy(obj)
        kept["metadata"] |= {"uid": f"uid-of-{obj['metadata']['name']}", "resourceVersion": str(self._version)}
        self.objects[(kind.kind, obj["metadata"]["name"])] = kept
        return kept


def made() -> tuple[FakeApiServer, Cache, Applier]:
    """An applier whose answers go into a cache."""
    server, cache = FakeApiServer(), Cache()
    server.objects[(MODELS.kind, "tiny")] = {
        "metadata": {"name": "tiny", "namespace": "team", "uid": "uid-1", "resourceVersion": "1"}
    }
    return server, cache, Applier(CachedKube(server, cache), cache)


def part() -> Part:
    """The Service of the model."""
    return Part("arriero", service.service(OWNER, Service()))


async def test_an_equal_child_is_not_written_again() -> None:
    server, _, applier = made()
    await applier.ensure(OWNER, SERVICES, [part()])
    await applier.ensure(OWNER, SERVICES, [part()])
    assert server.writes == 1


async def test_a_child_that_somebody_edited_is_put_right() -> None:
    server, cache, applier = made()
    live = await applier.ensure(OWNER, SERVICES, [part()])
    cache.put(SERVICES, server.put(SERVICES, live | {"spec": {}}))
    again = await applier.ensure(OWNER, SERVICES, [part()])
    assert again["spec"] == live["spec"]
    assert server.writes == 2


def anew(server: FakeApiServer, cache: Cache) -> Applier:
    """The applier of an operator that has just started."""
    return Applier(CachedKube(server, cache), cache)


async def test_after_a_restart_an_equal_child_is_not_written_again() -> None:
    server, cache, applier = made()
    await applier.ensure(OWNER, SERVICES, [part()])
    await anew(server, cache).ensure(OWNER, SERVICES, [part()])
    assert server.writes == 1


async def test_a_child_that_somebody_edited_while_the_operator_was_away_is_put_right() -> None:
    server, cache, applier = made()
    live = await applier.ensure(OWNER, SERVICES, [part()])
    cache.put(SERVICES, server.put(SERVICES, live | {"spec": {**live["spec"], "selector": {"other": "pods"}}}))
    again = await anew(server, cache).ensure(OWNER, SERVICES, [part()])
    assert again["spec"] == live["spec"]
    assert server.writes == 2


async def test_what_is_wanted_no_more_is_taken_back_although_the_operator_was_away() -> None:
    server, cache, applier = made()
    await applier.ensure(OWNER, SERVICES, [Part("arriero", service.service(OWNER, Service(labels={"team": "a"})))])
    again = await anew(server, cache).ensure(OWNER, SERVICES, [part()])
    assert "team" not in again["metadata"]["labels"]
    assert server.writes == 2


async def test_what_the_api_server_adds_or_writes_in_its_own_way_costs_no_write_after_a_restart() -> None:
    server, cache, applier = made()
    containers = [{"name": "a", "resources": {"limits": {"cpu": "2000m"}}, "args": ["x"]}]
    intent = part().intent | {"spec": {"containers": containers, "volumes": [{"name": "v", "emptyDir": {}}]}}
    live = await applier.ensure(OWNER, SERVICES, [Part("arriero", intent)])
    added = [{"name": "injected"}, {**containers[0], "resources": {"limits": {"cpu": "2"}}, "stdin": False}]
    cache.put(SERVICES, server.put(SERVICES, live | {"spec": {**live["spec"], "containers": added}}))
    await anew(server, cache).ensure(OWNER, SERVICES, [Part("arriero", intent)])
    assert server.writes == 1


async def test_a_young_model_is_not_asked_for_before_its_children_are_made() -> None:
    server, cache, applier = made()
    del server.objects[(MODELS.kind, "tiny")]
    born = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata = {"name": "tiny", "namespace": "team", "uid": "uid-1", "resourceVersion": "1", "creationTimestamp": born}
    cache.put(MODELS, {"metadata": metadata, "spec": {}})
    await applier.ensure(OWNER, SERVICES, [part()])
    assert server.writes == 1


def reference(version: str, kind: str, name: str) -> Object:
    """To the controller of an object."""
    return {"apiVersion": version, "kind": kind, "name": name, "uid": "x", "controller": True}


@pytest.mark.parametrize(
    "metadata",
    [
        {"ownerReferences": []},
        {"ownerReferences": [reference("arriero.dev/v1alpha1", "Other", "tiny")]},
        {"ownerReferences": [reference("arriero.dev/v1alpha1", "InferenceModel", "other")]},
        {"ownerReferences": [reference("inference.networking.x-k8s.io/v1alpha2", "InferenceModel", "tiny")]},
    ],
)
async def test_an_object_of_somebody_else_is_left_alone(metadata: Object) -> None:
    server, _, applier = made()
    foreign = {"metadata": {"name": "tiny", "namespace": "team", "labels": {"app": "database"}} | metadata, "spec": {}}
    server.put(SERVICES, foreign)
    with pytest.raises(ChildProblem) as caught:
        await applier.ensure(OWNER, SERVICES, [part()])
    assert caught.value.failure.reason == "ChildNameTaken"
    assert "Service 'tiny'" in caught.value.failure.message
    assert "spec.service.name" in caught.value.failure.remedy
    assert server.writes == 0


async def test_an_object_that_somebody_else_makes_between_the_look_and_the_write_is_left_alone() -> None:
    server, cache, applier = made()
    foreign = {"metadata": {"name": "tiny", "namespace": "team", "labels": {"app": "database"}}, "spec": {"x": 1}}

    class Meddler(FakeApiServer):
        async def get(self, kind: Kind, namespace: str, name: str) -> Object:
            """The look for the model comes last before the write."""
            if kind is MODELS:
                server.put(SERVICES, foreign)
            return await server.get(kind, namespace, name)

        async def apply(
            self, kind: Kind, obj: Object, *, manager: str, force: bool = True, subresource: str = ""
        ) -> Object:
            return await server.apply(kind, obj, manager=manager, force=force, subresource=subresource)

    applier = Applier(CachedKube(Meddler(), cache), cache)
    with pytest.raises(ChildProblem) as caught:
        await applier.ensure(OWNER, SERVICES, [part()])
    assert caught.value.failure.reason == "ChildNameTaken"
    assert server.objects[(SERVICES.kind, "tiny")]["spec"] == {"x": 1}
    assert server.writes == 0


async def test_a_child_of_the_deleted_namesake_is_waited_for() -> None:
    server, _, applier = made()
    server.put(SERVICES, service.service(Owner("team", "tiny", "uid-before"), Service()))
    with pytest.raises(Leaving):
        await applier.ensure(OWNER, SERVICES, [part()])
    assert server.writes == 0


@pytest.mark.parametrize(
    ("error", "reason", "retry"),
    [
        (Invalid("spec.ports: required", 422), "ChildRefused", None),
        (Forbidden("exceeded quota: services", 403), "QuotaExceeded", 30.0),
        (Forbidden("admission webhook denied the request", 403), "ChildDenied", 30.0),
    ],
)
async def test_a_refusal_is_told_in_the_words_of_the_api_server(
    error: KubeError, reason: str, retry: float | None
) -> None:
    server, _, applier = made()
    server.refuses = error
    with pytest.raises(ChildProblem) as caught:
        await applier.ensure(OWNER, SERVICES, [part()])
    assert caught.value.failure.reason == reason
    assert error.message in caught.value.failure.message
    assert caught.value.retry_after == retry


async def test_a_namespace_that_ends_is_no_failure() -> None:
    server, _, applier = made()
    server.refuses = Forbidden("unable to create: namespace team is being terminated", 403)
    with pytest.raises(Leaving):
        await applier.ensure(OWNER, SERVICES, [part()])


async def test_nothing_is_made_for_a_model_that_has_just_gone() -> None:
    server, _, applier = made()
    del server.objects[(MODELS.kind, "tiny")]
    with pytest.raises(Leaving):
        await applier.ensure(OWNER, SERVICES, [part()])
    assert server.writes == 0
