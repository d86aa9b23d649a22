"""Whose turn a changed profile or image is, from what the resources say; without a cluster."""

from dataclasses import replace

import pytest

from arriero_api import labels
from arriero_api.types import InferenceModel
from arriero_operator.cache.store import Cache
from arriero_operator.configuration.limits import Changes
from arriero_operator.configuration.settings import Profile, Settings
from arriero_operator.kube.protocol import MODELS, REVISIONS
from arriero_operator.planning.planner import Planner
from arriero_operator.render import names
from arriero_operator.render.owner import Owner
from arriero_operator.revisions.lineage import Lineage
from arriero_operator.rounds.observed import Observed
from arriero_operator.work.keys import Key
from tests.operator.machinery.objects import make
from tests.support.kubectl import Object

IMAGE = "runtime:2"
SETTINGS = Settings((), "cpu", "", 1, {"cpu": Profile("cpu", IMAGE)}, changes=Changes(images="OneByOne"))
REFUSED: Object = {"engine": {"args": ["--port=1"]}}


class World:
    """Models that are well on an earlier image; `told` are those that were told that it is their turn."""

    def __init__(self, *names: str) -> None:
        self.cache = Cache()
        self.told: list[Key] = []
        self.planner = Planner(None, self.cache, SETTINGS, self.told.append)  # type: ignore[arg-type]
        for name in names:
            self.put(name, 1)

    def put(
        self, name: str, version: int, accepted: str = "True", wanted: str = "", ready: str = "", **spec: object
    ) -> Object:
        """The model as it stands; of the revision `wanted`, which it has as far as it is `ready`."""
        words = {"Ready": ready or accepted, "Accepted": accepted, "UpToDate": ready or accepted}
        status = {
            "conditions": [{"type": kind, "status": word} for kind, word in words.items()],
            "model": {"wanted": wanted},
        }
        obj = make(MODELS, name, version, spec={"model": {"uri": "hf://a/b"}, **spec}, status=status)
        obj["metadata"] |= {"generation": version, "creationTimestamp": "2026-01-01T12:00:00Z"}
        self.cache.put(MODELS, obj)
        return obj

    def record(self, name: str, wanted: str, line: Lineage) -> None:
        """Its revision, and of what that was made."""
        found = make(REVISIONS, names.revisioned(name, wanted), 1, stem=name)
        found["metadata"]["annotations"] = {labels.INPUTS: line.to_json()}
        self.cache.put(REVISIONS, found)

    def may(self, name: str, aim: str = IMAGE) -> bool:
        """Whether it is the model's turn; else it waits."""
        return self.planner._turns.may(("team", name), aim)

    def passed(self, name: str) -> None:
        """The model waits for nothing, as it is."""
        self.planner._turns.passed(("team", name))

    async def plan(self, obj: Object) -> None:
        """Plan for the model as it stands."""
        name, uid = obj["metadata"]["name"], obj["metadata"]["uid"]
        spec = InferenceModel.model_validate({"spec": obj["spec"]}).spec
        found = await self.planner.plan(Observed(("team", name), obj, spec, Owner("team", name, uid), name, []))
        assert found.refused is not None

    def delete(self, name: str) -> None:
        """The model is gone."""
        self.cache.drop(MODELS, "team", name, f"InferenceModel-{name}")
        self.planner.forget(("team", name))


async def test_a_model_that_is_refused_while_it_is_its_turn_makes_room_for_the_next() -> None:
    world = World("x", "y")
    assert (world.may("x"), world.may("y")) == (True, False)
    await world.plan(world.put("x", 2, "False", **REFUSED))
    assert world.told == [("team", "y")]
    assert world.may("y")


async def test_a_deleted_model_makes_room_and_waits_no_more() -> None:
    world = World("x", "y", "z")
    assert [world.may(name) for name in "xyz"] == [True, False, False]
    world.delete("y")
    world.put("y", 2)  # another of its name, which does not ask for the image
    world.delete("x")
    assert world.told == [("team", "z")]


MARK = World().planner._turns.mark("cpu")
AIMS = {"image": (IMAGE, Lineage("s", image=IMAGE)), "profile": (MARK, Lineage("s", profile=MARK))}


@pytest.mark.parametrize(("aim", "line"), AIMS.values(), ids=AIMS)
def test_who_has_failed_holds_the_others_up_until_it_is_changed_also_over_a_restart(aim: str, line: Lineage) -> None:
    world = World("x", "y")
    assert (world.may("x", aim), world.may("y", aim)) == (True, False)
    world.record("x", "moved", line)
    world.put("x", 2, wanted="moved", ready="False")
    world.passed("x")
    assert (world.told, world.may("y", aim)) == ([], False)
    world.planner = Planner(None, world.cache, SETTINGS, world.told.append)  # type: ignore[arg-type]
    assert not world.may("y", aim)
    world.record("x", "changed", Lineage("another"))
    world.put("x", 3, wanted="changed", ready="False")
    world.passed("x")
    assert world.told == [("team", "y")]
    assert world.may("y", aim)


@pytest.mark.parametrize(("aim", "line"), AIMS.values(), ids=AIMS)
def test_who_is_ready_with_it_makes_room_and_one_that_fails_with_an_earlier_aim_may_go_on(
    aim: str, line: Lineage
) -> None:
    world = World("x", "y")
    assert (world.may("x", aim), world.may("y", aim)) == (True, False)
    world.record("x", "moved", line)
    world.put("x", 2, wanted="moved")
    world.passed("x")
    assert world.told == [("team", "y")]
    world.record("y", "earlier", Lineage("s", image="runtime:1", profile="profile of before"))
    world.put("y", 2, wanted="earlier", ready="False")
    assert world.may("y", aim)


@pytest.mark.parametrize("aim", [IMAGE, MARK], ids=["image", "profile"])
def test_who_is_not_well_any_more_before_it_was_moved_gives_its_turn_back(aim: str) -> None:
    world = World("x", "y")
    assert (world.may("x", aim), world.may("y", aim)) == (True, False)
    world.put("x", 2, ready="False")
    assert not world.may("x", aim)
    assert world.told == [("team", "y")]
    assert world.may("y", aim)


def test_who_has_failed_with_a_profile_and_its_image_holds_up_those_that_wait_for_either() -> None:
    world = World("x", "y", "z")
    assert (world.may("x", MARK), world.may("x", IMAGE)) == (True, True)
    world.record("x", "moved", Lineage("s", image=IMAGE, profile=MARK))
    world.put("x", 2, wanted="moved", ready="False")
    assert (world.may("y", MARK), world.may("z", IMAGE)) == (False, False)


def test_a_model_that_is_not_well_gets_no_turn_and_one_with_an_image_of_its_own_only_the_profiles() -> None:
    world = World()
    world.put("ill", 1, ready="False")
    assert not world.may("ill", MARK)
    world.put("own", 1, image="mine:1")
    world.put("other", 1)
    assert world.may("own", MARK)
    assert not world.may("other", MARK)
    assert world.planner._turns.mark("cpu") != Planner(
        None,  # type: ignore[arg-type]
        world.cache,
        replace(SETTINGS, profiles={"cpu": Profile("cpu", IMAGE, shared_memory="9Gi")}),
        world.told.append,
    )._turns.mark("cpu")
