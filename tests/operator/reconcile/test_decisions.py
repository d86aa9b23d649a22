"""What is accepted, who holds a name, how names and pods change over."""

import pytest

from arriero_api.contract import NameKind, Registration
from arriero_api.types import Spec
from arriero_operator.decide import acceptance, claims, registered
from arriero_operator.decide.plan import lost_names, plan
from arriero_operator.render.children import Owner
from arriero_operator.settings import Profile, Settings
from tests.support.kubectl import Object

SETTINGS = Settings((), "cpu", "", 4, {"cpu": Profile("cpu", "i"), "nvidia": Profile("nvidia", "i")})


def spec(**fields: object) -> Spec:
    """A spec of hf://org/tiny."""
    return Spec.model_validate({"model": {"uri": "hf://org/tiny"}, **fields})


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
    "an own variable": ({"engine": {"env": [{"name": "ARRIERO_X", "value": "1"}]}}, "EngineEnvOwned", "ARRIERO_X"),
}


@pytest.mark.parametrize(("fields", "reason", "words"), REFUSALS.values(), ids=REFUSALS)
def test_it_is_refused_to_set(fields: dict[str, object], reason: str, words: str) -> None:
    found = acceptance.refusal(spec(**fields), SETTINGS)
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
    found = plan(Owner("team", "tiny", "tiny"), obj, spec(**fields), SETTINGS, [obj], (), "1.0")
    assert found.profile == profile


def test_other_flags_and_variables_are_accepted() -> None:
    fields = {"args": ["--kv-cache-dtype=fp8", "-tp", "2"], "env": [{"name": "HF_ENDPOINT", "value": "http://h"}]}
    assert acceptance.refusal(spec(engine=fields), SETTINGS) is None


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
    assert lost_names(mine, [mine, other]) == lost


def test_names_are_the_own_one_and_the_aliases_none_twice() -> None:
    found = claims.wanted_names("tiny", spec(model={"uri": "hf://a/b", "name": "n", "aliases": ["x", "n", "y"]}))
    assert [(one.name, one.kind.value) for one in found] == [("n", "Model"), ("x", "Alias"), ("y", "Alias")]


WANTED = (Registration("tiny", NameKind.MODEL), Registration("chat", NameKind.ALIAS))
BEFORE = [
    {"name": "tiny", "kind": "Model", "state": "Registered"},
    {"name": "old", "kind": "Alias", "state": "Registered"},
]


@pytest.mark.parametrize(
    ("ready_pods", "proven", "states"),
    [
        (0, 0, {"tiny": "Registering", "chat": "Registering"}),
        (2, 1, {"tiny": "Registered", "chat": "Registering", "old": "Unregistering"}),
        (2, 2, {"tiny": "Registered", "chat": "Registered"}),
    ],
)
def test_a_name_is_registered_when_all_ready_pods_serve_it(
    ready_pods: int, proven: int, states: dict[str, str]
) -> None:
    found = registered.name_states(WANTED, {}, BEFORE, ready_pods, proven)
    assert {one.name: one.state for one in found} == states


def test_a_withheld_name_is_told_with_its_holder() -> None:
    found = registered.name_states(WANTED, {"chat": "first"}, (), 1, 1)
    assert [(one.name, one.state, one.pods) for one in found] == [("tiny", "Registered", 1), ("chat", "Conflict", 0)]
    assert "'first'" in found[1].message
