"""What is removed of revisions: what nothing needs, and nothing that a pod needs which only the API server knows of."""

import pytest

from arriero_api import labels
from arriero_operator.applying.ensure import Children
from arriero_operator.cache.kube import CachedKube
from arriero_operator.cache.store import Cache
from arriero_operator.configuration.settings import Profile, Settings
from arriero_operator.decide.plan import Plan
from arriero_operator.kube.protocol import CONFIG_MAPS, PODS, REVISIONS, Kind, Object
from arriero_operator.pods.facts import PodFacts
from arriero_operator.registrations.files import NamesFiles
from arriero_operator.render.owner import Owner
from arriero_operator.revisions import records
from arriero_operator.revisions.records import Revision
from tests.operator.machinery.objects import make
from tests.operator.reconcile.made import pod, ready
from tests.operator.reconcile.test_curiosity import KEY, NAMES, a_round

SETTINGS = Settings((), "cpu", "", 1, {"cpu": Profile("cpu", "i")})
SAID = {"model": {"wanted": "c", "serving": "b", "lastGood": "a"}}


def of(kind: Kind, revision: str, uid: str = "u") -> Object:
    """An object of one of the model's revisions; `uid` is its owner's."""
    found = make(kind, f"tiny-{revision}", 1, stem="tiny")
    found["metadata"]["labels"] |= {labels.REVISION: revision}
    found["metadata"]["ownerReferences"] = [Owner(KEY[0], "tiny", uid).reference()]
    return found


SURPLUS: dict[str, tuple[list[PodFacts], set[str], str]] = {
    "all but the serving, the wanted and the last good one": ([], {"a", "b", "c"}, "de"),
    "not one of which a pod is there": ([ready("p", "d")], {"a", "b", "c"}, "e"),
    "not one whose pod is being stopped": ([pod("p", "e", deleting=True)], {"a", "b", "c"}, "d"),
    "those of before, where one is all of it": ([], {"c"}, "abde"),
}


@pytest.mark.parametrize(("pods", "keep", "gone"), SURPLUS.values(), ids=SURPLUS)
def test_of_five_revisions_nobody_needs(pods: list[PodFacts], keep: set[str], gone: str) -> None:
    stored = [of(REVISIONS, one) for one in "abcde"] + [make(CONFIG_MAPS, "no-revision", 1, stem="tiny")]
    found = records.surplus(stored, pods, {*keep, ""})
    assert [one["metadata"]["labels"][labels.REVISION] for one in found] == list(gone)


class Server:
    """Pods that only the API server knows of, by revision; and what was deleted."""

    def __init__(self, *there: str) -> None:
        self.there = there
        self.deleted: list[tuple[str, str]] = []

    async def list(
        self, kind: Kind, namespace: str | None, labels: str = "", metadata_only: bool = False
    ) -> list[Object]:
        assert (kind, namespace, metadata_only) == (PODS, KEY[0], True)
        wanted = labels.removeprefix("arriero.dev/model=tiny,arriero.dev/revision=")
        return [of(PODS, one) for one in self.there if one == wanted]

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str) -> None:
        self.deleted.append((kind.kind, name))


async def tidied(server: Server, pods: list[PodFacts], uid: str = "u", status: Object | None = None) -> list[str]:
    """What of ControllerRevisions and ConfigMaps of the revisions a to e is removed, by revision."""
    cache = Cache()
    for one in "abcde":
        cache.put(REVISIONS, of(REVISIONS, one, uid))
        cache.put(CONFIG_MAPS, of(CONFIG_MAPS, one, uid))
    now = a_round(ready(), 0, SAID if status is None else status)
    object.__setattr__(now.observed, "pods", pods)
    now.plan = Plan(NAMES, revision=Revision("c", {}, {}))
    kube = CachedKube(server, cache)  # type: ignore[arg-type]
    await Children(kube, cache, NamesFiles(kube, cache), SETTINGS).tidy(now)
    gone = {
        kind: [name.removeprefix("tiny-") for of, name in server.deleted if of == kind]
        for kind in (REVISIONS.kind, CONFIG_MAPS.kind)
    }
    assert gone[REVISIONS.kind] == gone[CONFIG_MAPS.kind]
    return gone[REVISIONS.kind]


async def test_the_wanted_the_serving_and_the_last_good_revision_stay_with_their_names() -> None:
    assert await tidied(Server(), [ready("p", "b")]) == ["d", "e"]


async def test_a_revision_of_which_only_the_api_server_knows_a_pod_stays() -> None:
    assert await tidied(Server("d"), [ready("p", "b")]) == ["e"]


async def test_what_belongs_to_another_model_of_the_name_is_left_alone() -> None:
    assert await tidied(Server(), [], uid="another") == []


async def test_what_somebody_else_controls_and_only_goes_with_the_model_is_left_alone() -> None:
    mine = Owner(KEY[0], "tiny", "u").reference()
    other = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "tiny", "uid": "another", "controller": True}
    server, cache = Server(), Cache()
    for one in "de":
        record = of(REVISIONS, one)
        record["metadata"]["ownerReferences"] = [mine] if one == "e" else [mine | {"controller": False}, other]
        cache.put(REVISIONS, record)
    now = a_round(ready(), 0, SAID)
    object.__setattr__(now.observed, "pods", [])
    now.plan = Plan(NAMES, revision=Revision("c", {}, {}))
    kube = CachedKube(server, cache)  # type: ignore[arg-type]
    await Children(kube, cache, NamesFiles(kube, cache), SETTINGS).tidy(now)
    assert server.deleted == [(REVISIONS.kind, "tiny-e")]


async def test_before_anything_has_served_the_wanted_one_stays() -> None:
    assert await tidied(Server(), [], status={}) == ["a", "b", "d", "e"]
