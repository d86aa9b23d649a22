"""The routes that are asked most are found first, and each request still finds its own."""

import json
from pathlib import Path
from types import SimpleNamespace

from arriero_runtime.engine.vllm import routing

LISTS = Path(__file__).parents[1] / "openai" / "vllm_lists.json"


def ordered(*paths: str) -> list[str]:
    routes = [SimpleNamespace(path=path) for path in paths]
    routing.put_first(SimpleNamespace(router=SimpleNamespace(routes=routes)))
    return [route.path for route in routes]


def test_what_is_asked_most_comes_first_and_the_others_stay_in_their_order() -> None:
    found = ordered("/openapi.json", "/v1/models", "/v1/completions", "/metrics", "/v1/chat/completions")
    assert found == ["/v1/chat/completions", "/v1/completions", "/openapi.json", "/v1/models", "/metrics"]


def test_routes_without_a_path_and_routes_of_one_path_keep_their_order() -> None:
    routes = [SimpleNamespace(number=0), *(SimpleNamespace(path="/v1/chat/completions", number=i) for i in (1, 2))]
    routing.put_first(SimpleNamespace(router=SimpleNamespace(routes=routes)))
    assert [route.number for route in routes] == [1, 2, 0]


def test_the_engine_has_the_routes_that_come_first() -> None:
    record = json.loads(LISTS.read_text())
    assert set(routing.FIRST) <= set().union(*record["routes"].values())
