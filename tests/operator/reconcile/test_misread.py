"""A spec of a newer CRD: what this version does not understand is told, and the rest is read."""

from typing import Any

import pytest

from arriero_api.types import Spec
from arriero_operator.cache.store import Cache
from arriero_operator.configuration.settings import Profile, Settings
from arriero_operator.kube.protocol import MODELS, REVISIONS
from arriero_operator.observing.misread import read
from arriero_operator.observing.observe import observe
from arriero_operator.observing.pod_events import PodEvents
from arriero_operator.observing.runtime_status import RuntimeStatuses
from arriero_operator.planning.planner import Planner
from arriero_operator.render.owner import Owner
from arriero_operator.revisions.records import wanted
from arriero_operator.rounds.observed import Observed
from arriero_operator.work.result import TerminalError
from tests.operator.machinery.objects import make
from tests.operator.reconcile.made import chosen
from tests.operator.reconcile.test_render import inputs
from tests.operator.reconcile.test_runtime_status import FakeRuntimes
from tests.support.unasked import Unasked

Json = dict[str, Any]
HF: Json = {"uri": "hf://org/tiny"}

MISREAD: dict[str, tuple[Json, str, Json]] = {
    "a strategy": (
        {"model": HF, "rollout": {"strategy": "Canary", "surgeWaitSeconds": 60}},
        "spec.rollout.strategy: Input should be 'Auto', 'Surge' or 'Replace'",
        {"model": HF, "rollout": {"surgeWaitSeconds": 60}},
    ),
    "a type of Service": (
        {"model": HF, "service": {"type": "Mesh", "annotations": {"a": "b"}}},
        "spec.service.type: Input should be",
        {"model": HF, "service": {"annotations": {"a": "b"}}},
    ),
    "more replicas": ({"model": HF, "replicas": 2000}, "spec.replicas: ", {"model": HF, "replicas": 1000}),
    "a longer URI": (
        {"model": {"uri": "hf://" + "x" * 600, "name": "chat"}},
        "spec.model.uri: ",
        {"model": {"uri": "hf://" + "x" * 507, "name": "chat"}},
    ),
    "one of several variables": (
        {"model": HF, "engine": {"maxModelLen": 8, "env": [{"name": "A", "value": "b"}, {"name": 3}]}},
        "spec.engine.env.1.name: ",
        {"model": HF, "engine": {"maxModelLen": 8}},
    ),
    "another kind of URI": (
        {"model": {"uri": "nfs://server/path"}},
        "spec.model.uri: model URI 'nfs://server/path' is not one of",
        {"model": {"uri": "nfs://server/path"}},
    ),
    "several": (
        {"model": HF, "rollout": {"strategy": "Canary"}, "engine": {"dtype": {"of": "weights"}}},
        "; spec.",
        {"model": HF, "rollout": {}, "engine": {}},
    ),
}


@pytest.mark.parametrize(("raw", "words", "rest"), MISREAD.values(), ids=MISREAD)
def test_what_is_not_understood_is_named_and_left_out(raw: Json, words: str, rest: Json) -> None:
    found, said = read(raw)
    assert words in said
    assert found == Spec.model_validate(rest)


def test_what_is_understood_is_read_without_a_word() -> None:
    raw = {"model": HF, "later": {"of": "a newer CRD"}}
    assert read(raw) == (Spec.model_validate({"model": HF}), "")


def test_a_spec_of_which_nothing_is_understood_asks_for_another_operator() -> None:
    with pytest.raises(TerminalError, match=r"spec\.model: .*upgrade the operator"):
        read({"model": ["hf://org/tiny"]})


def seen(cache: Cache) -> Observed:
    """The model as it is found."""
    found = observe(cache, RuntimeStatuses(FakeRuntimes().fetch), PodEvents(None), ("team", "tiny"))  # type: ignore[arg-type]
    assert found is not None
    return found


async def test_it_is_refused_and_the_revision_that_was_accepted_last_stands() -> None:
    cache = Cache()
    settings = Settings((), "cpu", "", 1, {"cpu": Profile("cpu", "i")})
    planner = Planner(Unasked(), cache, settings, lambda key: None)  # type: ignore[arg-type]
    model = make(MODELS, "tiny", 1, spec={"model": HF, "rollout": {"strategy": "Canary"}})
    model["metadata"]["generation"] = 2
    cache.put(MODELS, model)
    plan = await planner.plan(seen(cache))
    assert plan.refused is not None and plan.refused.reason == "SpecNotUnderstood"
    assert "spec.rollout.strategy" in plan.refused.message
    assert "Upgrade the operator" in plan.refused.remedy
    assert plan.applied is None
    record = wanted(Owner("team", "tiny", "u"), chosen(inputs()), []).record
    record["metadata"] |= {"uid": "r", "resourceVersion": "2"}
    cache.put(REVISIONS, record)
    before = {"model": {"wanted": inputs().hash}}
    cache.put(MODELS, {**model, "metadata": {**model["metadata"], "resourceVersion": "3"}, "status": before})
    plan = await planner.plan(seen(cache))
    assert plan.held and plan.refused is not None
    assert plan.applied is not None and plan.applied.hash == inputs().hash
