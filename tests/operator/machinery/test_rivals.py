"""Models that claim a served name are looked up among all of their namespace."""

from typing import Any

from arriero_operator.cache.store import Cache
from arriero_operator.kube.protocol import MODELS, Object


def model(name: str, version: int = 1, namespace: str = "team", held: tuple[str, ...] = (), **spec: Any) -> Object:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}", "resourceVersion": str(version)}
    names = [{"name": one, "kind": "Alias", "state": "Registered"} for one in held]
    return {"metadata": metadata, "spec": {"model": {"uri": "hf://a/b", **spec}}, "status": {"names": names}}


def claimants(cache: Cache, *names: str) -> list[str]:
    return [one["metadata"]["name"] for one in cache.rivals("team", names)]


def test_a_model_is_found_by_each_name_that_it_asks_for_or_holds() -> None:
    cache = Cache()
    cache.put(MODELS, model("a", aliases=["chat"], held=("old",)))
    cache.put(MODELS, model("b"))
    cache.put(MODELS, model("c", namespace="other", aliases=["chat"]))
    assert claimants(cache, "chat") == ["a"]
    assert claimants(cache, "old") == ["a"]
    assert claimants(cache, "a", "b") == ["a", "b"]
    assert claimants(cache, "nobody") == []


def test_a_name_that_is_given_up_is_found_no_more() -> None:
    cache = Cache()
    cache.put(MODELS, model("a", aliases=["chat"]))
    cache.put(MODELS, model("a", version=2))
    assert claimants(cache, "chat") == []
    assert claimants(cache, "a") == ["a"]


def test_a_deleted_model_is_found_no_more() -> None:
    cache = Cache()
    cache.put(MODELS, model("a", aliases=["chat"]))
    cache.drop(MODELS, "team", "a", "uid-team-a", "2")
    assert claimants(cache, "a", "chat") == []
