"""A paused model is looked at again where nothing else tells that its status has become untrue; without a cluster."""

from collections.abc import Mapping
from typing import Any

import pytest

from arriero_operator.cache.store import Cache
from arriero_operator.configuration.settings import Profile, Settings
from arriero_operator.kube.protocol import MODELS, Kind, Object
from arriero_operator.observing.runtime_status import RuntimeStatuses
from arriero_operator.reconcile.reconciler import Reconciler
from arriero_operator.reconcile.waits import WITHHELD
from arriero_operator.watching.news import Expected
from tests.operator.machinery.objects import make
from tests.operator.reconcile.test_runtime_status import FakeRuntimes

SETTINGS = Settings((), "cpu", "", 1, {"cpu": Profile("cpu", "i")})


class Writes:
    """An API server that takes statuses and Events, and nothing else."""

    def __init__(self) -> None:
        self.statuses: list[Object] = []

    async def apply(
        self, kind: Kind, obj: Object, *, manager: str, force: bool = True, subresource: str = ""
    ) -> Object:
        assert (kind, subresource) == (MODELS, "status")
        self.statuses.append(obj["status"])
        return obj

    async def create(self, kind: Kind, obj: Object) -> Object:
        assert kind.kind == "Event"
        return obj


def model(name: str, created: str, **spec: Any) -> Object:
    """As it stands."""
    found = make(MODELS, name, 1, spec={"model": {"uri": "hf://a/b"}, **spec})
    found["metadata"] |= {"generation": 1, "creationTimestamp": created}
    return found


@pytest.mark.parametrize(("aliases", "wait"), [((), None), (("other",), WITHHELD)], ids=["nothing", "a withheld name"])
async def test_a_paused_model_waits_for(aliases: tuple[str, ...], wait: float | None) -> None:
    cache, kube = Cache(), Writes()
    cache.put(MODELS, model("other", "2026-01-01T11:00:00Z"))
    wanted: Mapping[str, Any] = {"uri": "hf://a/b", "aliases": list(aliases)}
    cache.put(MODELS, model("tiny", "2026-01-01T12:00:00Z", paused=True, model=wanted))
    statuses = RuntimeStatuses(FakeRuntimes().fetch)
    reconcile = Reconciler(kube, cache, SETTINGS, statuses, Expected())  # type: ignore[arg-type]
    assert (await reconcile(("team", "tiny"))).requeue_after == wait
    (status,) = kube.statuses
    states = {one["name"]: one["state"] for one in status["names"]}
    assert [name for name, state in states.items() if state == "Conflict"] == list(aliases)
