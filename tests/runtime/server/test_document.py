"""What /openapi.json tells: every route that is served, with the forms of what it takes and gives."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from arriero_runtime.native import wire
from arriero_runtime.native.operations import operations
from arriero_runtime.native.registering import RegisterModel
from tests.runtime.alone.harness import alone
from tests.runtime.native.played import EMBEDDER, LLM, native
from tests.runtime.server.harness import Running, options_for, running

Routes = set[tuple[str, str]]
ITSELF: Routes = {("GET", "/openapi.json")}
"""The one route that is left out on purpose."""


async def document(client: httpx.AsyncClient) -> dict[str, Any]:
    answer = await client.get("/openapi.json")
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def told(found: dict[str, Any]) -> Routes:
    return {(method.upper(), path) for path, methods in found["paths"].items() for method in methods}


async def served(client: httpx.AsyncClient) -> Routes:
    return {(one["method"], one["route"]) for one in (await client.get("/v1/inspect/routes")).json()["data"]}


def refs(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        yield from ([part["$ref"]] if isinstance(part.get("$ref"), str) else [])
        yield from (ref for one in part.values() for ref in refs(one))
    elif isinstance(part, list):
        yield from (ref for one in part for ref in refs(one))


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Running]:
    async with running(options_for(tmp_path)) as found:
        yield found


@pytest.mark.parametrize("paths", [LLM, EMBEDDER], ids=["text", "embeddings"])
async def test_it_tells_of_all_routes_that_this_model_answers_and_of_no_others(
    tmp_path: Path, paths: frozenset[str]
) -> None:
    async with native(tmp_path, paths=paths | {"/metrics", "/version"}) as stack:
        client = stack.server.client
        found = told(await document(client))
        assert found == await served(client) - ITSELF
    kinds = {"/v1/inference/completion", "/v1/inference/embeddings", "/v1/openai/v1/chat/completions"}
    text = {"/v1/inference/completion", "/v1/openai/v1/chat/completions"}
    assert {path for _, path in found} & kinds == (text if paths is LLM else kinds - text)
    assert {("GET", "/health"), ("GET", "/metrics"), ("DELETE", "/v1/openai/v1/models/{name}")} <= found


async def test_every_route_that_it_tells_is_there(server: Running) -> None:
    for method, path in told(await document(server.client)):
        answer = await server.client.request(method, path.replace("{name}", "one"), json={"model": "one"})
        assert answer.status_code not in (404, 405, 500, 501), (method, path)
    assert ("POST", "/invocations") not in told(await document(server.client))


async def test_all_forms_that_it_names_stand_in_it(server: Running) -> None:
    found = await document(server.client)
    own = {name: schema for name, schema in found["components"]["schemas"].items() if name.startswith("LlamaStack.")}
    names = set(refs([found["paths"], own]))
    assert len(names) > 20
    assert {name.removeprefix("#/components/schemas/") for name in names} <= own.keys()


async def test_a_request_s_form_is_that_by_which_it_is_checked(tmp_path: Path) -> None:
    async with native(tmp_path) as stack:
        found = await document(stack.server.client)
    content = found["paths"]["/v1/inference/completion"]["post"]["requestBody"]["content"]
    schema = found["components"]["schemas"][content["application/json"]["schema"]["$ref"].rpartition("/")[2]]
    assert set(schema["properties"]) == set(wire.Completion.model_fields)
    assert set(schema["required"]) == {"model_id", "content"}
    assert schema["additionalProperties"] is False
    assert found["paths"]["/v1/models"]["post"].get("requestBody") is None, "it is refused whatever it brings"


async def test_service_routes_answer_in_the_form_that_it_tells(server: Running) -> None:
    asked = 0
    for (path, method), one in operations(registers=False).items():
        if method == "get" and one.answer is not None:
            answer = await server.client.get(path.replace("{name}", "vllm" if "providers" in path else "one"))
            assert answer.status_code == 200, path
            one.answer.model_validate_json(answer.text, strict=True)
            asked += 1
    assert asked == 9


@pytest.mark.parametrize("keys", [False, True])
async def test_it_says_which_routes_need_a_key(tmp_path: Path, keys: bool) -> None:
    (tmp_path / "keys").write_text("k")
    extra = ["--api-key-file", str(tmp_path / "keys")] if keys else []
    async with running(options_for(tmp_path, extra)) as server:
        server.client.headers["authorization"] = "Bearer k"
        found = await document(server.client)
    assert ("security" in found) == ("securitySchemes" in found["components"]) == keys
    ways = found["components"].get("securitySchemes", {})
    assert found.get("security", []) == [{name: []} for name in ways]
    told = {one["name"] if one["type"] == "apiKey" else one["scheme"] for one in ways.values()}
    assert told == ({"bearer", "x-api-key"} if keys else set())
    free = {path for path, methods in found["paths"].items() for one in methods.values() if one.get("security") == []}
    assert free == ({"/health", "/v1/health", "/metrics"} if keys else set())


async def test_where_clients_register_models_it_tells_how_also_before_there_is_one(tmp_path: Path) -> None:
    async with alone(tmp_path) as lonely:
        before = await document(lonely.client)
        assert (await lonely.register("chat")).status_code == 200
        after = await document(lonely.client)
        assert told(after) == await served(lonely.client) - ITSELF
        assert (await lonely.unregister("chat")).status_code == 200
        assert await document(lonely.client) == before
    for found in (before, after):
        body = found["paths"]["/v1/models"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        schema = found["components"]["schemas"][body["$ref"].rpartition("/")[2]]
        assert set(schema["properties"]) == set(RegisterModel.model_fields)
        assert "200" in found["paths"]["/v1/models/{name}"]["delete"]["responses"]
    assert "/v1/chat/completions" not in before["paths"]
