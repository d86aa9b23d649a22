"""Which names mean the model that is served."""

import pytest

from arriero_api.contract import AdapterState, AdapterStatus, RuntimeStatus
from arriero_runtime.lifecycle import LifeCycle
from arriero_runtime.native.facts import Facts, repository_of

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
