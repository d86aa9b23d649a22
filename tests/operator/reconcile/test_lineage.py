"""Which revision a spec means when its profile, what it refers to, or the profile's image changes."""

from dataclasses import replace
from typing import Any

import pytest

from arriero_api import labels
from arriero_api.types import Engine, Spec
from arriero_operator.configuration.limits import Changes
from arriero_operator.configuration.settings import Profile
from arriero_operator.render.inputs import Inputs, pod_inputs
from arriero_operator.render.owner import Owner
from arriero_operator.revisions import lineage, records
from arriero_operator.revisions.lineage import Choice, Demand, Seen

OWNER = Owner("team", "tiny", "uid")
CPU = Profile("cpu", "runtime:1")
ROLLOUT, REPORT = Changes(), Changes(references="Report")
TURNS, MIXED = Changes(profiles="OneByOne"), Changes(references="Report", profiles="OneByOne")
LARGER = replace(CPU, shared_memory="9Gi", image="runtime:2")
SPEC = Spec.model_validate({"model": {"uri": "hf://org/tiny"}})
Json = dict[str, Any]


class World:
    """A model whose revisions are stored as they are chosen."""

    def __init__(self, changes: Changes = ROLLOUT) -> None:
        self.changes = changes
        self.stored: list[Json] = []
        self.current = ""

    def choose(
        self,
        contents: str = "",
        *missing: str,
        profile: Profile = CPU,
        retry: str = "",
        rolling: bool = False,
        moved: str = "",
    ) -> Choice:
        """What is wanted now; it is stored and becomes the wanted one."""
        demand = Demand(SPEC, inputs(profile), retry, self.current, rolling, moved)
        found = lineage.choose(demand, Seen(contents, missing), self.stored, self.changes)
        made = records.wanted(OWNER, found, self.stored)
        self.stored = [one for one in self.stored if hash_of(one) != made.hash] + [made.record]
        self.current = made.hash
        return found


def inputs(profile: Profile = CPU) -> Inputs:
    """Of the spec over a profile."""
    return pod_inputs(SPEC, profile)


def hash_of(record: Json) -> str:
    """The revision that a record is of."""
    return str(record["metadata"]["labels"][labels.REVISION])


def test_the_first_revision_has_the_hash_of_its_inputs_alone() -> None:
    world = World()
    world.choose("a")
    assert world.current == inputs().hash


def test_changed_contents_make_one_further_revision_and_earlier_ones_are_found_again() -> None:
    world = World()
    world.choose("a")
    first = world.current
    world.choose("b")
    second = world.current
    assert second != first
    assert not world.choose("b").stale
    assert world.current == second
    world.choose("a")
    assert world.current == first
    world.choose("c")
    assert len(world.stored) == 3


def test_what_is_missing_changes_nothing() -> None:
    world = World()
    world.choose("a")
    world.choose("b")
    before = world.current
    assert world.choose("", "ConfigMap 'tuning'").stored
    assert world.current == before


def test_a_revision_of_an_operator_that_looked_at_no_contents_is_kept() -> None:
    world = World()
    world.choose("")
    del world.stored[0]["metadata"]["annotations"][labels.INPUTS]
    first = world.current
    world.choose("a")
    assert world.current == first
    world.choose("b")
    assert world.current != first


@pytest.mark.parametrize(
    ("contents", "profile", "words"),
    [
        ("b", CPU, "what the spec refers to has changed"),
        ("a", replace(CPU, engine=Engine(max_model_len=9)), "the profile or the hub's endpoint has changed"),
    ],
    ids=["contents", "profile"],
)
def test_where_changes_are_told_the_pods_stay_until_they_are_asked_for(
    contents: str, profile: Profile, words: str
) -> None:
    world = World(REPORT)
    world.choose("a")
    first = world.current
    assert words in world.choose(contents, profile=profile).stale
    assert world.current == first
    assert not world.choose(contents, profile=profile, retry="1").stale
    assert world.current != first
    second = world.current
    assert not world.choose(contents, profile=profile, retry="1").stale
    assert world.current == second


def test_a_profile_that_is_put_back_is_not_stale_any_more() -> None:
    world = World(REPORT)
    world.choose("a")
    assert world.choose("a", profile=replace(CPU, shared_memory="9Gi")).stale
    assert not world.choose("a").stale


def test_a_profile_is_followed_in_the_models_turn_and_with_the_image_that_it_has_then() -> None:
    world = World(TURNS)
    world.choose("a")
    first = world.current
    found = world.choose("a", profile=LARGER)
    assert (world.current, found.waits) == (first, True)
    assert "the profile or the hub's endpoint has changed" in found.stale
    assert found.stale.endswith("models follow one by one")
    assert not world.choose("a", profile=LARGER, moved="larger").stale
    second = world.current
    assert second == inputs(LARGER).hash != first
    assert world.stored[-1]["data"]["template"]["spec"]["containers"][0]["image"] == "runtime:2"
    record = lineage.lineage_of(world.stored[-1])
    assert record is not None and record.profile == "larger"
    found = world.choose("a", profile=LARGER)
    assert (world.current, found.waits, found.stale) == (second, False, "")


def test_a_turn_of_which_the_status_tells_nothing_is_asked_for_again() -> None:
    world = World(TURNS)
    world.choose("a")
    first = world.current
    world.choose("a", profile=LARGER, moved="larger")
    second, world.current = world.current, first
    assert world.choose("a", profile=LARGER).waits
    assert world.current == first
    world.choose("a", profile=LARGER, moved="larger")
    assert world.current == second
    assert len(world.stored) == 2


def test_other_changes_wait_for_no_turn() -> None:
    world = World(TURNS)
    world.choose("a")
    first = world.current
    assert not world.choose("b").waits
    assert world.current != first
    second = world.current
    assert not world.choose("b", profile=LARGER, retry="1").waits, "who asks for it does not wait"
    assert world.current != second


def test_contents_that_change_beside_the_profile_do_not_bring_it_out_of_turn() -> None:
    world = World(TURNS)
    world.choose("a")
    first = world.current
    assert world.choose("b", profile=LARGER).waits
    assert world.current == first
    assert not world.choose("b", profile=LARGER, moved="larger").waits
    assert world.current != first


def test_a_model_that_is_moved_to_a_profile_and_its_image_is_found_again_as_it_is() -> None:
    world = World(TURNS)
    world.choose("a")
    moved = world.choose("a", profile=LARGER, rolling=True, moved="larger")
    assert (moved.lineage.image, moved.lineage.profile) == ("runtime:2", "larger")
    wanted = world.current
    assert not world.choose("a", profile=LARGER).waits
    assert world.current == wanted


def test_what_a_newer_operator_says_of_a_revision_beside_what_is_known_is_left_alone() -> None:
    record = {"metadata": {"annotations": {labels.INPUTS: '{"image": "i", "spec": "s", "later": 1}'}}}
    assert lineage.lineage_of(record) == lineage.Lineage("s", image="i")


def test_contents_that_are_only_told_keep_no_model_from_its_turn() -> None:
    world = World(MIXED)
    world.choose("a")
    first = world.current
    found = world.choose("b")
    assert (world.current, found.waits, bool(found.stale)) == (first, False, True)
    found = world.choose("b", profile=LARGER)
    assert (world.current, found.waits, bool(found.stale)) == (first, True, True)
    assert not world.choose("b", profile=LARGER, moved="larger").stale


@pytest.mark.parametrize(("contents", "profile", "stays"), [("b", CPU, True), ("a", LARGER, False)])
def test_profiles_may_be_followed_at_once_where_contents_are_told(contents: str, profile: Profile, stays: bool) -> None:
    world = World(Changes(references="Report", profiles="Rollout"))
    world.choose("a")
    first = world.current
    found = world.choose(contents, profile=profile)
    assert ((world.current == first), bool(found.stale)) == (stays, stays)


def test_the_profiles_image_makes_a_revision_only_when_it_is_the_models_turn() -> None:
    world = World()
    world.choose()
    first, newer = world.current, replace(CPU, image="runtime:2")
    world.choose(profile=newer)
    assert world.current == first
    world.choose(profile=newer, rolling=True)
    rolled = world.current
    assert rolled != first
    assert world.stored[-1]["data"]["template"]["spec"]["containers"][0]["image"] == "runtime:2"
    world.choose(profile=newer)
    assert world.current == rolled
    world.choose("a", profile=newer)
    assert world.current not in (first, rolled)


def test_a_word_about_its_inputs_that_was_edited_by_hand_is_as_none() -> None:
    world = World()
    world.choose("a")
    for text in ("{", "[]", '{"other": 1}'):
        world.stored[0]["metadata"]["annotations"][labels.INPUTS] = text
        assert lineage.lineage_of(world.stored[0]) is None
