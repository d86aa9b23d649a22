"""The client adapter against a real API server."""

import pytest

from arriero_operator.kube.adapter import ApiServer
from arriero_operator.kube.credentials import Credentials
from arriero_operator.kube.errors import AlreadyExists, Conflict, Forbidden, Invalid, NotFound
from arriero_operator.kube.protocol import CONFIG_MAPS, MODELS, SERVICES, Object
from tests.cluster import ControlPlane
from tests.support.kubectl import Kubectl

pytestmark = pytest.mark.control_plane


def config_map(namespace: str, name: str = "a", **data: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": name, "labels": {"test": "yes"}},
        "data": data,
    }


def model(namespace: str, name: str = "m") -> Object:
    metadata = {"namespace": namespace, "name": name}
    return {
        "apiVersion": MODELS.api_version,
        "kind": MODELS.kind,
        "metadata": metadata,
        "spec": {"model": {"uri": "hf://a/b"}},
    }


async def test_an_absent_object_is_not_found(kube: ApiServer, namespace: str) -> None:
    with pytest.raises(NotFound, match='configmaps "absent" not found'):
        await kube.get(CONFIG_MAPS, namespace, "absent")


async def test_apply_creates_then_changes_and_gives_up_what_the_intent_drops(kube: ApiServer, namespace: str) -> None:
    created = await kube.apply(CONFIG_MAPS, config_map(namespace, one="1", two="2"), manager="arriero")
    changed = await kube.apply(CONFIG_MAPS, config_map(namespace, one="x"), manager="arriero")
    assert changed["metadata"]["uid"] == created["metadata"]["uid"]
    assert changed["data"] == {"one": "x"}


async def test_apply_without_force_leaves_the_field_of_another_manager(kube: ApiServer, namespace: str) -> None:
    await kube.apply(CONFIG_MAPS, config_map(namespace, one="theirs"), manager="other")
    with pytest.raises(Conflict, match=r"conflict with \"other\""):
        await kube.apply(CONFIG_MAPS, config_map(namespace, one="ours"), manager="arriero", force=False)
    forced = await kube.apply(CONFIG_MAPS, config_map(namespace, one="ours"), manager="arriero")
    assert forced["data"] == {"one": "ours"}


async def test_apply_with_an_old_version_is_a_conflict(kube: ApiServer, namespace: str) -> None:
    first = await kube.apply(CONFIG_MAPS, config_map(namespace, one="1"), manager="arriero")
    await kube.apply(CONFIG_MAPS, config_map(namespace, one="2"), manager="arriero")
    stale = config_map(namespace, one="3")
    stale["metadata"]["resourceVersion"] = first["metadata"]["resourceVersion"]
    with pytest.raises(Conflict):
        await kube.apply(CONFIG_MAPS, stale, manager="arriero")


async def test_an_object_that_the_api_server_refuses_is_invalid_in_its_own_words(
    kube: ApiServer, namespace: str
) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": namespace, "name": "1.2"}}
    with pytest.raises(Invalid, match=r"\"1\.2\""):
        await kube.apply(SERVICES, {**service, "spec": {"ports": [{"port": 80}]}}, manager="arriero")


async def test_the_status_is_applied_as_a_subresource_and_leaves_the_spec(kube: ApiServer, namespace: str) -> None:
    created = await kube.create(MODELS, model(namespace))
    status = {"metadata": {"namespace": namespace, "name": "m"}, "status": {"url": "http://m", "replicas": 2}}
    done = await kube.apply(MODELS, status, manager="arriero-status", subresource="status")
    assert done["status"]["url"] == "http://m"
    assert done["spec"] == created["spec"]
    assert done["metadata"]["generation"] == created["metadata"]["generation"]


async def test_apply_of_the_status_never_creates_the_object(kube: ApiServer, namespace: str) -> None:
    status = {"metadata": {"namespace": namespace, "name": "absent"}, "status": {"url": "http://m"}}
    with pytest.raises(NotFound):
        await kube.apply(MODELS, status, manager="arriero-status", subresource="status")


async def test_create_of_what_exists_says_so(kube: ApiServer, namespace: str) -> None:
    await kube.create(CONFIG_MAPS, config_map(namespace))
    with pytest.raises(AlreadyExists):
        await kube.create(CONFIG_MAPS, config_map(namespace))


async def test_merge_patch_changes_one_field_and_never_creates(kube: ApiServer, namespace: str) -> None:
    await kube.create(CONFIG_MAPS, config_map(namespace, one="1", two="2"))
    patched = await kube.merge_patch(CONFIG_MAPS, namespace, "a", {"data": {"two": None, "three": "3"}})
    assert patched["data"] == {"one": "1", "three": "3"}
    with pytest.raises(NotFound):
        await kube.merge_patch(CONFIG_MAPS, namespace, "absent", {"data": {}})


async def test_a_patch_with_the_uid_of_another_object_is_a_conflict(kube: ApiServer, namespace: str) -> None:
    created = await kube.create(CONFIG_MAPS, config_map(namespace, one="1"))
    mine = {"metadata": {"uid": created["metadata"]["uid"], "annotations": {"a": "b"}}}
    assert await kube.merge_patch(CONFIG_MAPS, namespace, "a", mine)
    other = {"metadata": {"uid": "00000000-0000-0000-0000-000000000000", "annotations": {"a": "c"}}}
    with pytest.raises(Conflict):
        await kube.merge_patch(CONFIG_MAPS, namespace, "a", other)


async def test_delete_spares_an_object_with_another_uid_and_is_content_with_absence(
    kube: ApiServer, namespace: str
) -> None:
    created = await kube.create(CONFIG_MAPS, config_map(namespace))
    await kube.delete(CONFIG_MAPS, namespace, "a", uid="00000000-0000-0000-0000-000000000000")
    assert await kube.get(CONFIG_MAPS, namespace, "a")
    await kube.delete(CONFIG_MAPS, namespace, "a", uid=created["metadata"]["uid"])
    with pytest.raises(NotFound):
        await kube.get(CONFIG_MAPS, namespace, "a")
    await kube.delete(CONFIG_MAPS, namespace, "a", uid=created["metadata"]["uid"])


async def test_a_used_up_quota_is_told_from_a_missing_right(
    kube: ApiServer, kubectl: Kubectl, namespace: str, control_plane: ControlPlane
) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none"},
        "spec": {"hard": {"services": "0"}},
    }
    kubectl.apply(quota)
    service: Object = {"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": namespace, "name": "s"}}
    with pytest.raises(Forbidden) as refused:
        await kube.apply(SERVICES, {**service, "spec": {"ports": [{"port": 80}]}}, manager="arriero")
    assert refused.value.is_quota
    assert "exceeded quota: none" in refused.value.message


async def test_lists_are_paged_and_selected_by_label(kube: ApiServer, namespace: str) -> None:
    for number in range(5):
        await kube.create(CONFIG_MAPS, config_map(namespace, f"n{number}"))
    found = await kube.list(CONFIG_MAPS, namespace, "test=yes")
    assert [obj["metadata"]["name"] for obj in found] == [f"n{number}" for number in range(5)]
    assert {obj["kind"] for obj in found} == {"ConfigMap"}
    assert not await kube.list(CONFIG_MAPS, namespace, "test=no")


async def test_a_list_longer_than_a_page_is_complete(
    kube: ApiServer, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arriero_operator.kube.collection.PAGE", 2)
    for number in range(5):
        await kube.create(CONFIG_MAPS, config_map(namespace, f"n{number}"))
    assert len(await kube.list(CONFIG_MAPS, namespace, "test=yes")) == 5


async def test_a_list_of_metadata_carries_no_content(kube: ApiServer, namespace: str) -> None:
    await kube.create(CONFIG_MAPS, config_map(namespace, big="x" * 1000))
    found = await kube.list(CONFIG_MAPS, namespace, "test=yes", metadata_only=True)
    assert found[0]["metadata"]["uid"]
    assert "data" not in found[0]


async def test_objects_of_all_namespaces_are_listed_without_a_namespace(kube: ApiServer, namespace: str) -> None:
    await kube.create(CONFIG_MAPS, config_map(namespace))
    assert namespace in {obj["metadata"]["namespace"] for obj in await kube.list(CONFIG_MAPS, labels="test=yes")}


async def test_requests_are_counted_by_verb_resource_and_code(control_plane: ControlPlane, namespace: str) -> None:
    class Count:
        def __init__(self) -> None:
            self.seen: list[tuple[str, str, int]] = []

        def requested(self, verb: str, resource: str, code: int, seconds: float) -> None:
            self.seen.append((verb, resource, code))

    count = Count()
    api = await ApiServer.connect(Credentials(control_plane.kubeconfig), count)
    try:
        await api.apply(CONFIG_MAPS, config_map(namespace), manager="arriero")
        with pytest.raises(NotFound):
            await api.get(CONFIG_MAPS, namespace, "absent")
    finally:
        await api.close()
    assert count.seen == [("APPLY", "configmaps", 201), ("GET", "configmaps", 404)]
