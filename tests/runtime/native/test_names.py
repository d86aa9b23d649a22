"""Which names mean the model that is served."""

import json
from pathlib import Path

import pytest

from arriero_api.contract import AdapterState, AdapterStatus, RuntimeStatus
from arriero_runtime.lifecycle import LifeCycle
from arriero_runtime.native.facts import Facts, repository_of
from tests.runtime.native.played import native

JSON = {"content-type": "application/json"}
LLAMA = "meta-llama/Llama-3.2-3B-Instruct"


def facts(repository: str, *names: str) -> Facts:
    published: list[RuntimeStatus] = []
    life = LifeCycle(published.append)
    life.names(names, "hash")
    return Facts(life, repository, frozenset, frozenset)


@pytest.mark.parametrize("name", ["Llama3.2-3B-Instruct", LLAMA, "llama-3.2-3b-instruct"])
def test_the_models_names_in_llama_stack_mean_the_model(name: str) -> None:
    assert facts(LLAMA, "chat", "alias").served_name(name) == "chat"


def test_a_name_that_is_served_stays_as_it_is() -> None:
    assert facts(LLAMA, "chat", LLAMA).served_name(LLAMA) == LLAMA


@pytest.mark.parametrize("name", ["removed", "Llama3.2-1B-Instruct", "meta-llama/Llama-3.2-1B-Instruct"])
def test_another_name_is_never_answered_by_this_model(name: str) -> None:
    assert facts(LLAMA, "chat").served_name(name) == name


def test_an_adapters_name_is_the_adapters() -> None:
    found = facts(LLAMA, "chat")
    adapter = AdapterStatus("Llama3.2-3B-Instruct", "hf://org/adapter", "", AdapterState.REGISTERING)
    found.life.adapters((adapter,))
    assert found.served_name(adapter.name) == adapter.name
    assert found.served_name(LLAMA) == "chat"


def test_a_model_from_elsewhere_has_no_other_names() -> None:
    assert repository_of("file:///models/Llama-3.2-3B-Instruct") == ""
    assert repository_of(f"hf://{LLAMA}") == LLAMA
    assert facts("", "chat").served_name("Llama3.2-3B-Instruct") == "Llama3.2-3B-Instruct"


SAID = [{"role": "user", "content": '"model": "Llama3.2-3B-Instruct"'}]
OLD = {"x-llamastack-client-version": "0.2.3"}


@pytest.mark.parametrize("name", ["one", "two", "Llama3.2-3B-Instruct", LLAMA, "llama-3.2-3b-instruct"])
@pytest.mark.parametrize(("path", "headers"), [("/v1/openai/v1", {}), ("/v1", OLD)])
async def test_llama_stack_s_openai_routes_know_the_names_that_one_model_is_found_by(
    tmp_path: Path, path: str, headers: dict[str, str], name: str
) -> None:
    async with native(tmp_path) as stack:
        client = stack.server.client
        stack.server.serving.dispatcher.facts.repository = LLAMA
        found = (await client.get(f"{path}/models/{name}")).json()["id"]
        body = {"model": name, "messages": SAID, "metadata": {"model": LLAMA}}
        answer = await client.post(f"{path}/chat/completions", json=body, headers=headers)
        assert answer.status_code == 200
        assert stack.script.last == {**body, "model": found}
        written = json.dumps(body).replace("/", "\\/").encode()
        answer = await client.post(f"{path}/chat/completions", content=written, headers={**headers, **JSON})
        assert answer.status_code == 200


@pytest.mark.parametrize("name", ["Llama3.2-1B-Instruct", "removed", "", None, 5])
async def test_a_name_of_something_else_is_unknown_there(tmp_path: Path, name: object) -> None:
    async with native(tmp_path) as stack:
        stack.server.serving.dispatcher.facts.repository = LLAMA
        body = {"model": name, "messages": SAID}
        assert (await stack.server.client.post("/v1/openai/v1/chat/completions", json=body)).status_code == 404
        assert stack.script.last == body
