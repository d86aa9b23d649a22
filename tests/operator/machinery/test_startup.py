"""What is checked before anything is watched."""

import asyncio
import copy
from typing import Any

import pytest

from arriero_api import crd, labels
from arriero_operator.cache.store import CACHED
from arriero_operator.configuration.limits import Reads
from arriero_operator.kube.adapter import ApiServer
from arriero_operator.kube.errors import NotFound, Unavailable
from arriero_operator.kube.protocol import Kind, Object
from arriero_operator.process.crd import check_crd
from arriero_operator.process.errors import StartupError
from arriero_operator.process.rights import RIGHTS, check_rights, left_out, rights
from tests.support.virtual_time import run_virtual


class Served:
    """The OpenAPI document of an API server; fake of its edge."""

    def __init__(self, schema: dict[str, Any] | Exception) -> None:
        self.schema = schema

    async def read(self, path: str) -> Object:
        assert path == "/openapi/v3/apis/arriero.dev/v1alpha1"
        if isinstance(self.schema, Exception):
            raise self.schema
        kind = {"group": labels.GROUP, "version": labels.VERSION, "kind": labels.KIND}
        return {"components": {"schemas": {"x": {**self.schema, "x-kubernetes-group-version-kind": [kind]}}}}


def schema() -> dict[str, Any]:
    found: dict[str, Any] = crd.definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return copy.deepcopy(found)


async def test_the_crd_of_this_version_is_accepted() -> None:
    await check_crd(Served(schema()))


async def test_a_newer_crd_with_more_fields_is_accepted() -> None:
    newer = schema()
    newer["properties"]["spec"]["properties"]["future"] = {"type": "string"}
    await check_crd(Served(newer))


async def test_an_older_crd_is_refused_with_every_field_that_it_lacks() -> None:
    older = schema()
    del older["properties"]["spec"]["properties"]["sharedMemory"]
    del older["properties"]["status"]["properties"]["names"]["items"]["properties"]["pods"]
    with pytest.raises(StartupError, match=r"lacks spec\.sharedMemory, status\.names\.pods: install or upgrade"):
        await check_crd(Served(older), patience=0)


async def test_an_absent_crd_is_refused_with_the_remedy() -> None:
    with pytest.raises(StartupError, match=r"has no InferenceModel of arriero\.dev/v1alpha1: install"):
        await check_crd(Served(NotFound("404 page not found", 404)), patience=0)


async def test_an_api_server_that_does_not_answer_is_told_from_an_absent_crd() -> None:
    with pytest.raises(Unavailable):
        await check_crd(Served(Unavailable("no answer")))


def test_a_crd_that_is_published_late_is_waited_for() -> None:
    async def main() -> None:
        served = Served(NotFound("404 page not found", 404))

        async def publish() -> None:
            await asyncio.sleep(10)
            served.schema = schema()

        publishing = asyncio.create_task(publish())
        await check_crd(served)
        await publishing

    run_virtual(main())


def test_every_watched_namespace_is_checked_and_the_lease_in_its_own() -> None:
    needed = [str(right) for right in rights(("a", "b"), "ops")]
    assert "watch inferencemodels.arriero.dev in namespace a" in needed
    assert "watch inferencemodels.arriero.dev in namespace b" in needed
    assert "patch inferencemodels/status.arriero.dev in namespace b" in needed
    assert "list pods in namespace a" in needed
    assert [right for right in needed if "leases" in right] == [
        f"{verb} leases.coordination.k8s.io in namespace ops" for verb in ("get", "create", "patch")
    ]


def test_without_named_namespaces_rights_in_all_are_needed() -> None:
    assert "watch pods in all namespaces" in [str(right) for right in rights((), "ops")]


@pytest.mark.parametrize(
    ("reads", "policies", "values"),
    [
        (Reads(), False, ["reads.secrets", "reads.classes", "networkPolicies.enabled"]),
        (Reads(secrets=True), True, ["reads.classes"]),
        (Reads(secrets=True, classes=True), True, []),
    ],
    ids=["by default", "some", "all is on"],
)
def test_what_is_left_out_is_named_with_the_value_that_changes_it(
    reads: Reads, policies: bool, values: list[str]
) -> None:
    assert [words.partition("(")[2].rstrip(")") for words in left_out(reads, policies)] == values


@pytest.mark.control_plane
async def test_a_real_api_server_with_our_crd_and_all_rights_passes(kube: ApiServer, namespace: str) -> None:
    await check_crd(kube)
    await check_rights(kube, rights((), namespace))


class Reviewing:
    """FAKE of the API server's answers: all is allowed in these namespaces, `but` one resource (`only_in` one of them);
    nothing in others."""

    def __init__(self, *allowed: str, but: str = "", only_in: str = "") -> None:
        self._allowed, self._but, self._only_in = allowed, but, only_in

    async def create(self, kind: Kind, obj: Object) -> Object:
        asked = obj["spec"]["resourceAttributes"]
        place = asked.get("namespace")
        without = asked["resource"] == self._but and self._only_in in ("", place)
        yes = place in self._allowed and not without
        return {"status": {"allowed": yes}}


async def test_a_namespace_that_is_gone_is_named_in_place_of_its_rights() -> None:
    needed = rights(("a", "b"), "ops")
    (lost,) = (await check_rights(Reviewing("a", "ops"), needed)).items()
    assert lost == ("b", "the operator may do nothing there: the namespace is gone, or without the chart's Role")
    with pytest.raises(StartupError) as caught:
        await check_rights(Reviewing("ops"), needed)
    assert str(caught.value).startswith("the operator may do nothing in a, b: such a namespace is gone")
    assert "watchNamespaces" in str(caught.value)
    with pytest.raises(StartupError, match="may not: get services in namespace a"):
        await check_rights(Reviewing("a", "b", "ops", but="services"), needed)


async def test_a_namespace_without_one_right_takes_no_other_one_with_it_and_the_right_is_named() -> None:
    needed = rights(("a", "b"), "ops")
    without = Reviewing("a", "b", "ops", but="services", only_in="b")
    lost = await check_rights(without, needed)
    assert list(lost) == ["b"]
    assert lost["b"].startswith("the operator may not: get services in namespace b; ")


async def test_a_lease_that_may_not_be_taken_is_told_also_where_its_namespace_is_watched_and_lost() -> None:
    with pytest.raises(StartupError, match="may not: get leases"):
        await check_rights(Reviewing("team"), rights(("ops", "team"), "ops"))


def test_all_that_is_cached_may_be_listed_watched_and_fetched_again() -> None:
    allowed = {(kind, verb) for kind, subresource, verbs in RIGHTS for verb in verbs if not subresource}
    needed = {(kind, verb) for kind in CACHED for verb in ("get", "list", "watch")}
    assert needed <= allowed
