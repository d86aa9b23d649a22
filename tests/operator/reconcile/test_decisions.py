"""What is accepted, who holds a name, how names and pods change over."""

from datetime import UTC, datetime

import pytest

from arriero_api.contract import Failure, NameKind, Registration
from arriero_api.reasons import REASONS
from arriero_api.types import Spec
from arriero_operator.configuration.settings import Profile, Settings
from arriero_operator.decide import acceptance, claims, registered
from arriero_operator.decide.claims import Loss
from arriero_operator.decide.plan import lost_names, plan
from arriero_operator.render.owner import Owner
from arriero_operator.revisions.room import Room
from tests.support.kubectl import Object

SETTINGS = Settings((), "cpu", "", 4, {"cpu": Profile("cpu", "i"), "nvidia": Profile("nvidia", "i")})


def spec(**fields: object) -> Spec:
    """A spec of hf://org/tiny."""
    return Spec.model_validate({"model": {"uri": "hf://org/tiny"}, **fields})


def refusal(wanted: Spec) -> Failure | None:
    """Why it is refused."""
    return acceptance.asked(wanted, SETTINGS).refused


REFUSALS = {
    "an unknown profile": (
        {"profile": "tpu"},
        "ProfileUnknown",
        "'tpu' is not one of the chart's profiles: cpu, nvidia",
    ),
    "the port": ({"engine": {"args": ["--port=1"]}}, "EngineFlagOwned", "spec.engine.args: --port"),
    "a typed field as a flag": (
        {"engine": {"args": ["--max_model_len", "9"]}},
        "EngineFlagOwned",
        "spec.engine.maxModelLen",
    ),
    "the cache's place": ({"engine": {"env": [{"name": "HF_HOME", "value": "/x"}]}}, "EngineEnvOwned", "HF_HOME"),
    "the compiler's place": (
        {"engine": {"env": [{"name": "TRITON_CACHE_DIR", "value": "/x"}]}},
        "EngineEnvOwned",
        "TRITON_CACHE_DIR",
    ),
    "more shared memory than memory": (
        {"sharedMemory": "64Gi", "resources": {"limits": {"memory": "8Gi"}}},
        "SharedMemoryTooLarge",
        "sharedMemory is 64Gi, more than the memory limit of 8Gi",
    ),
    "an own variable": ({"engine": {"env": [{"name": "ARRIERO_X", "value": "1"}]}}, "EngineEnvOwned", "ARRIERO_X"),
}


@pytest.mark.parametrize(("fields", "reason", "words"), REFUSALS.values(), ids=REFUSALS)
def test_it_is_refused_to_set(fields: dict[str, object], reason: str, words: str) -> None:
    found = refusal(spec(**fields))
    assert found is not None
    assert found.reason == reason
    assert words in found.message


@pytest.mark.parametrize(
    ("fields", "profile"),
    [
        ({}, "cpu"),
        ({"profile": "nvidia"}, "nvidia"),
        ({"profile": "tpu"}, ""),
        ({"engine": {"args": ["--port=1"]}}, "cpu"),
    ],
)
def test_the_profile_in_force_is_known_also_where_it_is_the_default(fields: dict[str, object], profile: str) -> None:
    obj = resource("tiny", "1")
    found = plan(Owner("team", "tiny", "tiny"), obj, acceptance.asked(spec(**fields), SETTINGS), [obj], ())
    assert found.profile == profile


def test_other_flags_and_variables_are_accepted() -> None:
    fields = {"args": ["--kv-cache-dtype=fp8", "--seed", "2"], "env": [{"name": "HF_ENDPOINT", "value": "http://h"}]}
    assert refusal(spec(engine=fields)) is None


def resource(name: str, created: str, *aliases: str, held: tuple[str, ...] = (), refused: bool = False) -> Object:
    """An InferenceModel as the API server gives it."""
    status: Object = {"names": [{"name": one, "kind": "Alias", "state": "Registered"} for one in held]}
    status["conditions"] = [{"type": "Accepted", "status": str(not refused)}]
    return {
        "metadata": {"name": name, "uid": name, "namespace": "team", "creationTimestamp": created},
        "spec": {"model": {"uri": "hf://a/b", "aliases": list(aliases)}},
        "status": status,
    }


RIGHTS = {
    "the older goes first": (resource("b", "2", "chat"), resource("a", "1", "chat"), {"chat": "a"}),
    "the younger loses to nobody younger": (resource("b", "1", "chat"), resource("a", "2", "chat"), {}),
    "the name decides between equals": (resource("b", "1", "chat"), resource("a", "1", "chat"), {"chat": "a"}),
    "whoever holds it keeps it": (resource("b", "2", "chat", held=("chat",)), resource("a", "1", "chat"), {}),
    "whoever does not hold it waits": (
        resource("a", "1", "chat"),
        resource("b", "2", "chat", held=("chat",)),
        {"chat": "b"},
    ),
    "a name on its way out is still held": (
        resource("a", "1", "chat"),
        resource("b", "2", held=("chat",)),
        {"chat": "b"},
    ),
    "a refused model takes nothing": (resource("b", "2", "chat"), resource("a", "1", "chat", refused=True), {}),
    "a model's own name counts too": (resource("b", "2", "a"), resource("a", "1"), {"a": "a"}),
}


@pytest.mark.parametrize(("mine", "other", "lost"), RIGHTS.values(), ids=RIGHTS)
def test_a_name_belongs_to_one_model(mine: Object, other: Object, lost: dict[str, str]) -> None:
    assert {name: loss.model for name, loss in lost_names(mine, [mine, other]).items()} == lost


def test_a_name_that_its_holder_gives_up_is_a_handover_and_no_conflict() -> None:
    heir = resource("a", "1", "chat")
    holder = resource("b", "2", held=("chat",))
    assert lost_names(heir, [heir, holder]) == {"chat": Loss("b", passing=True)}
    keeper = resource("b", "2", "chat", held=("chat",))
    assert lost_names(heir, [heir, keeper]) == {"chat": Loss("b", passing=False)}
    assert Loss("b").words("chat") == "'chat' is held by the model 'b' of this namespace."
    assert all(field in REASONS["NameConflict"].remedy for field in ("spec.model.name", "spec.model.aliases"))
    alone = heir | {"spec": {"model": {"uri": "hf://a/b", "name": "chat"}}}
    for other, reason in ((holder, "NameHandover"), (keeper, "NameConflict")):
        wanted = spec(model={"uri": "hf://a/b", "name": "chat"})
        found = plan(Owner("team", "a", "a"), alone, acceptance.asked(wanted, SETTINGS), [alone, other], ())
        assert found.refused is not None
        assert found.refused.reason == reason


def test_names_are_the_own_one_and_the_aliases_none_twice() -> None:
    found = claims.wanted_names("tiny", spec(model={"uri": "hf://a/b", "name": "n", "aliases": ["x", "n", "y"]}))
    assert [(one.name, one.kind.value) for one in found] == [("n", "Model"), ("x", "Alias"), ("y", "Alias")]


WANTED = (Registration("tiny", NameKind.MODEL), Registration("chat", NameKind.ALIAS))
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SOON, PAST, FAR = "2026-01-01T12:00:05Z", "2026-01-01T11:59:59Z", "2026-01-01T13:00:00Z"
BEFORE = [
    {"name": "tiny", "kind": "Model", "state": "Registered"},
    {"name": "old", "kind": "Alias", "state": "Registered"},
]


def left(until: str = "") -> list[Object]:
    """Names of a status in which `old` is leaving."""
    gone = {"name": "old", "kind": "Alias", "state": "Unregistering"}
    return [BEFORE[0], gone | ({"until": until} if until else {})]


@pytest.mark.parametrize(
    ("ready_pods", "proven", "states"),
    [
        (0, 0, {"tiny": "Registering", "chat": "Registering"}),
        (2, 1, {"tiny": "Registered", "chat": "Registering", "old": "Unregistering"}),
        (2, 2, {"tiny": "Registered", "chat": "Registered", "old": "Unregistering"}),
    ],
)
def test_a_name_is_registered_when_all_ready_pods_serve_it(
    ready_pods: int, proven: int, states: dict[str, str]
) -> None:
    found = registered.name_states(WANTED, {}, BEFORE, ready_pods, proven, NOW)
    assert {one.name: one.state for one in found} == states


@pytest.mark.parametrize(
    ("before", "proven", "until"),
    [
        (BEFORE, 1, "2026-01-01T12:00:12Z"),
        (left(SOON), 1, SOON),
        (left(SOON), 0, SOON),
        (left(PAST), 0, ""),
        (left(FAR), 0, ""),
        (left(PAST), 1, None),
        (left(), 1, None),
    ],
    ids=["not wanted any more", "still told", "on its way", "time is up", "another clock", "proven", "proven later"],
)
def test_a_name_that_leaves_is_told_with_its_time_and_then_until_it_is_proven(
    before: list[Object], proven: int, until: str | None
) -> None:
    found = registered.name_states(WANTED[:1], {}, before, 1, proven, NOW)
    assert [(one.name, one.state, one.until) for one in found[1:]] == (
        [] if until is None else [("old", "Unregistering", until)]
    )


@pytest.mark.parametrize(
    ("before", "stays"), [(BEFORE, True), (left(SOON), True), (left(PAST), False), (left(FAR), False), (left(), False)]
)
def test_pods_keep_a_name_that_leaves_for_its_time(before: list[Object], stays: bool) -> None:
    stored = (Registration("tiny", NameKind.MODEL), Registration("old", NameKind.ALIAS))
    found = registered.served(WANTED[:1], stored, before, NOW, Room())
    assert found == (stored if stays else WANTED[:1])


def test_a_new_name_of_the_model_comes_before_its_old_one() -> None:
    before = [{"name": "anna", "kind": "Model", "state": "Registered"}]
    stored = (Registration("anna", NameKind.MODEL),)
    found = registered.served((Registration("berta", NameKind.MODEL),), stored, before, NOW, Room())
    assert [(one.name, one.kind.value) for one in found] == [("berta", "Model"), ("anna", "Alias")]


def test_adapters_that_leave_take_no_room_from_those_that_are_wanted() -> None:
    old, new = (Registration(name, NameKind.ADAPTER, uri=f"hf://org/{name}") for name in ("old", "new"))
    before = [BEFORE[0], {"name": "old", "kind": "Adapter", "state": "Registered"}]
    for room, adapters in ((2, (new, old)), (1, (new,))):
        assert registered.served((WANTED[0], new), (WANTED[0], old), before, NOW, Room(room)) == (WANTED[0], *adapters)


def test_what_is_refused_keeps_the_time_of_a_name_that_leaves() -> None:
    (_, found) = registered.refused_states((), {}, left(SOON), NOW)
    assert (found.state, found.until) == ("Unregistering", SOON)


def test_a_withheld_name_is_told_with_its_holder() -> None:
    found = registered.name_states(WANTED, {"chat": Loss("first")}, (), 1, 1, NOW)
    assert [(one.name, one.state, one.pods) for one in found] == [("tiny", "Registered", 1), ("chat", "Conflict", 0)]
    assert "'first'" in found[1].message
