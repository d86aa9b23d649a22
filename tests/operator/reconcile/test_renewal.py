"""A revision is rendered anew only where none of its pods serves, by a look at the API server; without a cluster."""

from dataclasses import replace

import pytest

from arriero_api import labels
from arriero_operator.applying.ensure import Children
from arriero_operator.cache.kube import CachedKube
from arriero_operator.cache.store import Cache
from arriero_operator.configuration.settings import Profile, Settings
from arriero_operator.decide.plan import Plan
from arriero_operator.kube.protocol import PODS, REVISIONS, Kind, Object
from arriero_operator.pods.facts import timestamp
from arriero_operator.registrations.files import NamesFiles
from arriero_operator.revisions import records
from tests.operator.machinery.objects import make
from tests.operator.reconcile.made import START, chosen, pod
from tests.operator.reconcile.test_curiosity import KEY, NAMES, a_round
from tests.operator.reconcile.test_render import inputs

SETTINGS = Settings((), "cpu", "", 1, {"cpu": Profile("cpu", "i")})


class Server:
    """The pod of the revision as it is, and what was deleted."""

    def __init__(self, found: Object) -> None:
        self.found = found
        self.deleted: list[str] = []

    async def list(
        self, kind: Kind, namespace: str | None, labels: str = "", metadata_only: bool = False
    ) -> list[Object]:
        assert (kind, namespace) == (PODS, KEY[0])
        assert self.found["metadata"]["labels"]["arriero.dev/revision"] in labels
        return [self.found]

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str) -> None:
        self.deleted.append(kind.kind)


@pytest.mark.parametrize(("word", "renewed"), [("True", False), ("False", True)], ids=["serves", "does not serve"])
async def test_a_revision_is_removed_by_what_its_pod_does_now_where_it(word: str, renewed: bool) -> None:
    wanted = inputs()
    now = a_round(pod(revision=wanted.hash), 60)
    record = records.wanted(now.observed.owner, chosen(wanted), []).record
    record["metadata"] |= {"uid": "r", "resourceVersion": "1"}
    cache = Cache()
    cache.put(REVISIONS, record)
    now.plan = Plan(NAMES, inputs=replace(wanted, default_image="another"))
    found = make(PODS, "a", 2, stem="tiny")
    found["metadata"]["labels"] |= {labels.REVISION: wanted.hash}
    found["metadata"]["creationTimestamp"] = timestamp(START)
    found["status"] = {"conditions": [{"type": "Ready", "status": word, "lastTransitionTime": timestamp(START)}]}
    server = Server(found)
    kube = CachedKube(server, cache)  # type: ignore[arg-type]
    children = Children(kube, cache, NamesFiles(kube, cache), SETTINGS)
    assert await children.renew(now) is renewed
    assert server.deleted == ([REVISIONS.kind] if renewed else [])
