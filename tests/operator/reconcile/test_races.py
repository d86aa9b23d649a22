"""What others do between two requests of the operator, on a real API server."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from arriero_api.types import Service
from arriero_operator.applying.apply import Applier
from arriero_operator.applying.parts import Part
from arriero_operator.applying.problems import ChildProblem
from arriero_operator.cache.kube import CachedKube
from arriero_operator.cache.store import Cache
from arriero_operator.kube.adapter import ApiServer
from arriero_operator.kube.protocol import DEPLOYMENTS, SERVICES, Kind, Object, Objects
from arriero_operator.render import children, names, service
from arriero_operator.render.owner import Owner
from tests.operator.reconcile.models import model, read
from tests.support.kubectl import Kubectl
from tests.support.unasked import Unasked

pytestmark = pytest.mark.control_plane


class Meddler(Unasked):
    """An API server on which somebody makes `foreign` right before the operator makes its own."""

    def __init__(self, kube: ApiServer, kubectl: Kubectl, foreign: Object) -> None:
        self._kube = kube
        self._kubectl = kubectl
        self._foreign = foreign

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        """As Kube.get."""
        return await self._kube.get(kind, namespace, name)

    async def list(
        self, kind: Kind, namespace: str | None = None, labels: str = "", metadata_only: bool = False
    ) -> Objects:
        """As Kube.list."""
        return await self._kube.list(kind, namespace, labels, metadata_only)

    async def create(self, kind: Kind, obj: Object) -> Object:
        """As Kube.create."""
        return await self._kube.create(kind, obj)

    async def apply(
        self, kind: Kind, obj: Object, *, manager: str, force: bool = True, subresource: str = ""
    ) -> Object:
        """As Kube.apply."""
        if not force:
            self._kubectl.run("create", "-f", "-", stdin=json.dumps(self._foreign))
        return await self._kube.apply(kind, obj, manager=manager, force=force, subresource=subresource)

    async def merge_patch(self, kind: Kind, namespace: str, name: str, patch: Mapping[str, Any]) -> Object:
        """As Kube.merge_patch."""
        return await self._kube.merge_patch(kind, namespace, name, patch)

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str) -> None:
        """As Kube.delete."""
        await self._kube.delete(kind, namespace, name, uid=uid)


TEMPLATE: Object = {
    "metadata": {"labels": names.selector("tiny")},
    "spec": {"containers": [{"name": "runtime", "image": "runtime:1"}]},
}
FOREIGN_TEMPLATE: Object = {
    "metadata": {"labels": {"app": "database"}},
    "spec": {"containers": [{"name": "database", "image": "database:1"}]},
}
FOREIGN: Mapping[Kind, Object] = {
    SERVICES: {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "tiny"},
        "spec": {"ports": [{"port": 5432}], "selector": {"app": "database"}},
    },
    DEPLOYMENTS: {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "tiny"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "database"}}, "template": FOREIGN_TEMPLATE},
    },
}


def _parts(kind: Kind, owner: Owner) -> list[Part]:
    if kind is SERVICES:
        return [Part("arriero", service.service(owner, Service()))]
    rolling = {"maxSurge": 1, "maxUnavailable": 0}
    return [
        Part("arriero", children.deployment_scale(owner, 0, rolling)),
        Part(
            "arriero-template",
            children.deployment_template(owner, TEMPLATE),
            opening=children.deployment_whole(owner, 0, rolling, TEMPLATE),
        ),
    ]


@pytest.mark.parametrize("kind", [SERVICES, DEPLOYMENTS], ids=["service", "deployment"])
async def test_what_somebody_makes_meanwhile_is_left_as_it_is(kube: ApiServer, kubectl: Kubectl, kind: Kind) -> None:
    kubectl.apply(model("tiny"))
    owner = Owner(kubectl.namespace, "tiny", read(kubectl, "tiny")["metadata"]["uid"])
    cache = Cache()
    applier = Applier(CachedKube(Meddler(kube, kubectl, FOREIGN[kind]), cache), cache)
    with pytest.raises(ChildProblem) as caught:
        await applier.ensure(owner, kind, _parts(kind, owner))
    assert caught.value.failure.reason == "ChildNameTaken"
    found = kubectl.json("get", kind.plural, "tiny")
    assert "ownerReferences" not in found["metadata"]
    assert found["spec"]["selector"] == FOREIGN[kind]["spec"]["selector"]


@pytest.mark.parametrize("kind", [SERVICES, DEPLOYMENTS], ids=["service", "deployment"])
async def test_where_nobody_meddles_a_child_is_made_and_left_in_peace(
    kube: ApiServer, kubectl: Kubectl, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    apply = ApiServer.apply

    async def counted(self: ApiServer, kind: Kind, obj: Object, **options: Any) -> Object:
        written.append(options["manager"])
        return await apply(self, kind, obj, **options)

    monkeypatch.setattr(ApiServer, "apply", counted)
    kubectl.apply(model("tiny"))
    owner = Owner(kubectl.namespace, "tiny", read(kubectl, "tiny")["metadata"]["uid"])
    cache = Cache()
    applier = Applier(CachedKube(kube, cache), cache)
    await applier.ensure(owner, kind, _parts(kind, owner))
    assert written
    written.clear()
    await applier.ensure(owner, kind, _parts(kind, owner))
    assert not written


async def test_an_edit_between_two_parts_of_one_child_is_put_back(
    kube: ApiServer, kubectl: Kubectl, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl.apply(model("tiny"))
    owner = Owner(kubectl.namespace, "tiny", read(kubectl, "tiny")["metadata"]["uid"])
    cache = Cache()
    applier = Applier(CachedKube(kube, cache), cache)
    scale, template = _parts(DEPLOYMENTS, owner)
    await applier.ensure(owner, DEPLOYMENTS, [scale, template])
    apply, edits = ApiServer.apply, ["runtime=runtime:2"]

    async def meddled(self: ApiServer, kind: Kind, obj: Object, **options: Any) -> Object:
        if options["manager"] == scale.manager and edits:
            kubectl.run("set", "image", "deployment/tiny", edits.pop())
        return await apply(self, kind, obj, **options)

    monkeypatch.setattr(ApiServer, "apply", meddled)
    other = {"metadata": {"labels": names.selector("tiny"), "annotations": {"a": "b"}}, "spec": TEMPLATE["spec"]}
    fewer = Part(scale.manager, children.deployment_scale(owner, 1, {"maxSurge": 0, "maxUnavailable": 1}))
    await applier.ensure(
        owner, DEPLOYMENTS, [Part(template.manager, children.deployment_template(owner, other)), fewer]
    )
    assert not edits
    found = kubectl.json("get", "deployment", "tiny")["spec"]
    assert [one["image"] for one in found["template"]["spec"]["containers"]] == ["runtime:1"]
    assert (found["replicas"], found["template"]["metadata"]["annotations"]["a"]) == (1, "b")
