"""Listing, health, version, providers, and OpenAI routes as Llama Stack clients call them."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arriero_api.contract import AdapterState, AdapterStatus, Phase
from tests.runtime.server.harness import Running, error_of, options_for, running, write_names
from tests.support.eventually import eventually_async

OLD = {"x-llamastack-client-version": "0.2.3"}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Running]:
    options = options_for(tmp_path)
    write_names(options.registrations, "one", "org/alias")
    async with running(options) as found:
        yield found


async def lines_of(server: Running, path: str, headers: dict[str, str]) -> list[str]:
    server.engine.release.set()
    body = {"model": "one", "user": "stream"}
    async with server.client.stream("POST", path, json=body, headers=headers) as response:
        assert response.status_code == 200
        return [line async for line in response.aiter_lines() if line]


async def test_every_listed_model_has_the_members_of_both_apis(server: Running) -> None:
    server.serving.life.effective({"maxModelLen": 1024, "toolCallParser": "none"})
    for path in ("/v1/models", "/v1/openai/v1/models"):
        listed = (await server.client.get(path)).json()
        assert listed["object"] == "list"
        assert [model["id"] for model in listed["data"]] == ["one", "org/alias"]
        model = listed["data"][0]
        assert (model["object"], model["type"], model["identifier"]) == ("model", "model", "one")
        assert (model["model_type"], model["provider_id"], model["provider_resource_id"]) == ("llm", "vllm", "one")
        assert model["metadata"] == {"context_length": 1024, "tool_call_parser": "none"}
        assert model["custom_metadata"]["context_length"] == 1024


async def test_one_model_is_found_by_a_name_with_a_slash_and_an_unknown_one_is_404(server: Running) -> None:
    assert (await server.client.get("/v1/models/org/alias")).json()["identifier"] == "org/alias"
    assert (await server.client.get("/v1/models/org%2Falias")).json()["identifier"] == "org/alias"
    unknown = await server.client.get("/v1/models/alias")
    assert unknown.status_code == 404
    assert "'alias'" in str(error_of(unknown)["message"])


async def test_registering_is_403_and_names_the_resource_and_a_patch_that_keeps_the_aliases(server: Running) -> None:
    answer = await server.client.post("/v1/models", json={"model_id": "another"})
    assert answer.status_code == 403
    message = str(error_of(answer)["message"])
    assert "kubectl patch inferencemodel NAME-OF-THE-RESOURCE --type=merge" in message
    server.serving.dispatcher.facts.resource = "llama"
    message = str(error_of(await server.client.post("/v1/models", json={}))["message"])
    assert "kubectl patch inferencemodel llama --type=merge" in message
    assert '{"spec": {"model": {"aliases": ["org/alias", "ANOTHER-NAME"]}}}' in message


async def test_unregistering_is_403_with_the_patch_that_removes_the_name(server: Running) -> None:
    alias = await server.client.delete("/v1/models/org/alias")
    assert alias.status_code == 403
    assert '{"spec": {"model": {"aliases": []}}}' in str(error_of(alias)["message"])
    server.serving.dispatcher.facts.resource = "llama"
    own = await server.client.delete("/v1/models/one")
    assert "kubectl delete inferencemodel llama" in str(error_of(own)["message"])
    assert len((await server.client.get("/v1/models")).json()["data"]) == 2


async def test_an_adapter_is_listed_with_its_source_and_base(server: Running) -> None:
    server.engine.names = ("one", "tuned")
    server.serving.life.adapters((AdapterStatus("tuned", "hf://org/tuned", "", AdapterState.REGISTERED),))
    one, tuned = (await server.client.get("/v1/models")).json()["data"]
    assert (one["provider_resource_id"], tuned["provider_resource_id"]) == ("one", "hf://org/tuned")
    assert tuned["metadata"]["base_model"] == "one"
    removal = await server.client.delete("/v1/models/tuned")
    assert "spec.lora.adapters" in str(error_of(removal)["message"])


async def test_health_version_and_providers_answer_while_the_model_loads(tmp_path: Path) -> None:
    async with running(options_for(tmp_path), ready=False) as server:
        await server.reach(Phase.LOADING)
        health = await server.client.get("/v1/health")
        assert (health.status_code, health.json()["status"]) == (503, "Error")
        assert "Loading" in health.json()["detail"]
        assert (await server.client.get("/v1/version")).json()["version"]
        provider = (await server.client.get("/v1/providers/vllm")).json()
        assert provider["health"]["status"] == "Error"
        server.loader.go.set()
        await server.reach(Phase.READY)
        assert (await server.client.get("/v1/health")).json() == {"status": "OK"}
        providers: Any = (await server.client.get("/v1/providers")).json()["data"]
        assert [(one["provider_type"], one["health"]) for one in providers] == [("inline::vllm", {"status": "OK"})]
        assert providers[0]["config"] == {"maxModelLen": 1024}


async def test_an_unknown_provider_is_400_with_the_one_that_there_is(server: Running) -> None:
    answer = await server.client.get("/v1/providers/other")
    assert answer.status_code == 400
    assert "'vllm'" in answer.json()["detail"]


async def test_the_overview_has_the_routes_of_this_model_and_no_others(server: Running) -> None:
    data = (await server.client.get("/v1/inspect/routes")).json()["data"]
    routes = {(route["method"], route["route"]) for route in data}
    assert {("POST", "/v1/chat/completions"), ("POST", "/v1/openai/v1/chat/completions")} <= routes
    assert ("DELETE", "/v1/models/{name}") in routes
    assert not {route for _, route in routes if "embeddings" in route or "invocations" in route}


async def test_streams_below_openai_and_those_for_old_clients_have_no_end_mark(server: Running) -> None:
    assert await lines_of(server, "/v1/chat/completions", {}) == ["data: one", "data: two", "data: [DONE]"]
    new = {"x-llamastack-client-version": "0.7.5"}
    assert (await lines_of(server, "/v1/chat/completions", new))[-1] == "data: [DONE]"
    assert await lines_of(server, "/v1/chat/completions", OLD) == ["data: one", "data: two"]
    assert await lines_of(server, "/v1/openai/v1/chat/completions", {}) == ["data: one", "data: two"]


async def test_an_openai_route_below_openai_answers_like_the_plain_one_and_knows_its_method(server: Running) -> None:
    answer = await server.client.post("/v1/openai/v1/chat/completions", json={"model": "one"})
    assert (answer.status_code, answer.json()) == (200, {"answer": "Paris"})
    assert (await server.client.post("/v1/openai/v1/chat/completions", json={"model": "no"})).status_code == 404
    assert (await server.client.get("/v1/openai/v1/chat/completions")).status_code == 405
    assert (await server.client.post("/v1/openai/v1/invocations", json={})).status_code == 404


async def test_a_stream_without_end_mark_is_cut_with_an_error_event_and_none_either(tmp_path: Path) -> None:
    async with running(options_for(tmp_path, ["--request-timeout-seconds", "1"])) as server:
        body = {"model": "one", "user": "stream"}
        async with server.client.stream("POST", "/v1/openai/v1/chat/completions", json=body) as response:
            lines = [line async for line in response.aiter_lines() if line]
        assert len(lines) == 2
        assert '"code": 504' in lines[1]
        await eventually_async(lambda: server.engine.disconnects == 1)
