"""What the planner makes of turns where a profile and its image have changed together; without a cluster."""

import itertools
from dataclasses import replace

import pytest

from arriero_api import pod
from arriero_api.types import InferenceModel
from arriero_operator.cache.store import Cache
from arriero_operator.configuration.limits import Changes
from arriero_operator.configuration.settings import Profile, Settings
from arriero_operator.decide.plan import Plan
from arriero_operator.kube.protocol import MODELS, REVISIONS, Object
from arriero_operator.planning.planner import Planner
from arriero_operator.render.owner import Owner
from arriero_operator.revisions.lineage import Lineage, lineage_of
from arriero_operator.rounds.observed import Observed
from arriero_operator.work.keys import Key
from tests.operator.machinery.objects import make

BEFORE = Settings(
    (), "cpu", "", 1, {"cpu": Profile("cpu", "runtime:1")}, changes=Changes(profiles="OneByOne", images="OneByOne")
)
AFTER = replace(BEFORE, profiles={"cpu": Profile("cpu", "runtime:2", shared_memory="3Gi")})


class Fleet:
    """Models that are well as operators of earlier settings have made them."""

    def __init__(self) -> None:
        self.cache = Cache()
        self.told: list[Key] = []
        self._versions = itertools.count(1)
        self.restart()

    @classmethod
    async def serving(cls, *names: str) -> "Fleet":
        """As BEFORE has made them; from now on an operator of the settings AFTER plans."""
        fleet = cls()
        for name in names:
            await fleet.made(name)
        return fleet

    async def made(self, name: str, settings: Settings = BEFORE, **spec: str) -> None:
        """One more model, of such settings."""
        self._put(name, "", "True", {"model": {"uri": "hf://a/b"}, **spec})
        self.restart(settings)
        self.follow(name, await self.plan(name), ready=True)
        self.restart()

    def restart(self, settings: Settings = AFTER) -> None:
        """Another operator, which knows what the resources say."""
        self._planner = Planner(None, self.cache, settings, self.told.append)  # type: ignore[arg-type]

    async def plan(self, name: str) -> Plan:
        """Of the model as it stands."""
        obj = self.cache.get(MODELS, "team", name)
        assert obj is not None
        spec = InferenceModel.model_validate({"spec": obj["spec"]}).spec
        owner = Owner("team", name, obj["metadata"]["uid"])
        found = await self._planner.plan(Observed(("team", name), obj, spec, owner, name, []))
        assert found.refused is None
        return found

    def follow(self, name: str, planned: Plan, *, ready: bool) -> None:
        """What a reconcile makes of the plan: its revision and the status."""
        assert planned.revision is not None
        record = dict(planned.revision.record)
        record["metadata"] = record["metadata"] | {"uid": planned.revision.hash, "resourceVersion": self._next()}
        self.cache.put(REVISIONS, record)
        known = self.cache.get(MODELS, "team", name)
        assert known is not None
        self._put(name, planned.revision.hash, str(ready), known["spec"])

    def _put(self, name: str, wanted: str, ready: str, spec: Object) -> None:
        words = {"Accepted": "True", "Ready": ready, "UpToDate": ready}
        status = {
            "conditions": [{"type": kind, "status": word} for kind, word in words.items()],
            "model": {"wanted": wanted, "lastGood": wanted},
        }
        obj = make(MODELS, name, int(self._next()), spec=spec, status=status)
        obj["metadata"]["creationTimestamp"] = "2026-01-01T12:00:00Z"
        self.cache.put(MODELS, obj)

    def _next(self) -> str:
        return str(next(self._versions))


def made_of(planned: Plan) -> tuple[str, str]:
    """Image and shared memory of its pods."""
    assert planned.revision is not None
    spec = planned.revision.template["spec"]
    (image,) = (one["image"] for one in spec["containers"] if one["name"] == pod.CONTAINER)
    (memory,) = (one["emptyDir"]["sizeLimit"] for one in spec["volumes"] if one["name"] == "shm")
    return image, memory


def line(planned: Plan) -> Lineage:
    assert planned.revision is not None
    found = lineage_of(planned.revision.record)
    assert found is not None
    return found


async def test_both_reach_one_model_after_the_other_each_with_one_new_revision() -> None:
    fleet = await Fleet.serving("x", "y")
    first, second = await fleet.plan("x"), await fleet.plan("y")
    assert made_of(first) == ("runtime:2", "3Gi")
    assert line(first).image == "runtime:2"
    assert line(first).profile
    assert made_of(second) == ("runtime:1", "2Gi")
    assert second.waits
    assert "models follow one by one" in second.stale
    fleet.follow("x", first, ready=False)
    fleet.restart()
    assert (await fleet.plan("y")).waits
    assert fleet.told == []
    fleet.follow("x", await fleet.plan("x"), ready=True)
    again = await fleet.plan("x")
    assert fleet.told == [("team", "y")]
    second = await fleet.plan("y")
    assert made_of(again) == made_of(second) == ("runtime:2", "3Gi")
    assert line(second) == line(first)
    fleet.follow("y", second, ready=True)
    await fleet.plan("y")
    for name in "xy":
        assert len(fleet.cache.children(REVISIONS, "team", name)) == 2
        assert not (await fleet.plan(name)).outdated


async def test_a_model_that_fails_with_both_keeps_the_others_as_they_are_also_over_a_restart() -> None:
    fleet = await Fleet.serving("x", "y", "z")
    fleet.follow("x", await fleet.plan("x"), ready=False)
    for _ in range(2):
        for name in "yz":
            kept = await fleet.plan(name)
            assert (made_of(kept), kept.waits) == (("runtime:1", "2Gi"), True)
            fleet.follow(name, kept, ready=True)
        fleet.restart()
    assert fleet.told == []


ONE_OF_BOTH: dict[str, tuple[Settings, dict[str, str]]] = {
    "the profile": (BEFORE, {"image": "mine:1"}),
    "the image": (replace(AFTER, profiles={"cpu": replace(AFTER.profiles["cpu"], image="runtime:1")}), {}),
}


@pytest.mark.parametrize(("made", "spec"), ONE_OF_BOTH.values(), ids=ONE_OF_BOTH)
async def test_a_model_that_fails_with_one_of_them_holds_up_those_that_wait_for_both(
    made: Settings, spec: dict[str, str]
) -> None:
    fleet = await Fleet.serving("y")
    await fleet.made("x", made, **spec)
    first = await fleet.plan("x")
    assert bool(line(first).image) != bool(line(first).profile)
    fleet.follow("x", first, ready=False)
    kept = await fleet.plan("y")
    assert (made_of(kept), kept.waits) == (("runtime:1", "2Gi"), True)
