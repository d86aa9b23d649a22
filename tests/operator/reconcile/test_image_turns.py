"""Whose turn a changed image is, from what the resources say; without a cluster."""

from arriero_api.types import InferenceModel
from arriero_operator.cache import Cache
from arriero_operator.keys import Key
from arriero_operator.kube.protocol import MODELS
from arriero_operator.limits import Changes
from arriero_operator.observe import Observed
from arriero_operator.planner import Planner
from arriero_operator.render.children import Owner
from arriero_operator.settings import Profile, Settings
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

    def put(self, name: str, version: int, accepted: str = "True", **spec: object) -> Object:
        """The model as it stands."""
        conditions = [{"type": "Ready", "status": accepted}, {"type": "Accepted", "status": accepted}]
        obj = make(
            MODELS, name, version, spec={"model": {"uri": "hf://a/b"}, **spec}, status={"conditions": conditions}
        )
        obj["metadata"] |= {"generation": version, "creationTimestamp": "2026-01-01T12:00:00Z"}
        self.cache.put(MODELS, obj)
        return obj

    def may(self, name: str) -> bool:
        """Whether it is the model's turn; else it waits."""
        return self.planner._rolls.may(("team", name), IMAGE)

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
