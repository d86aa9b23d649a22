"""The names of models in Llama Stack."""

import json
import subprocess

import pytest

from arriero_api import llama_names
from tests.cluster.images import environment


def test_there_are_44_names_and_each_stands_for_a_repository_of_meta() -> None:
    assert len(llama_names.REPOSITORIES) == 44
    assert all(repository.startswith("meta-llama/Llama-") for repository in llama_names.REPOSITORIES.values())


@pytest.mark.parametrize(
    ("name", "repository"),
    [
        ("Llama3.2-3B-Instruct", "meta-llama/Llama-3.2-3B-Instruct"),
        ("Llama3.1-405B", "meta-llama/Llama-3.1-405B-FP8"),
        ("Llama3.1-405B-Instruct:bf16-mp16", "meta-llama/Llama-3.1-405B-Instruct"),
        ("Llama3.2-1B-Instruct:int4-spinquant-eo8", "meta-llama/Llama-3.2-1B-Instruct-SpinQuant_INT4_EO8"),
        ("Llama-4-Maverick-17B-128E-Instruct:fp8", "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8"),
        ("Llama-Guard-3-1B:int4", "meta-llama/Llama-Guard-3-1B-INT4"),
    ],
)
def test_a_name_leads_to_its_repository(name: str, repository: str) -> None:
    assert llama_names.REPOSITORIES[name] == repository


def test_the_first_of_two_names_stands_for_a_shared_repository() -> None:
    assert llama_names.names_of("meta-llama/Llama-3.1-405B") == ("Llama3.1-405B:bf16-mp8", "Llama3.1-405B:bf16-mp16")


@pytest.mark.parametrize(
    "name",
    ["Llama3.2-3B-Instruct", "llama3.2-3b-instruct", "meta-llama/Llama-3.2-3B-Instruct", "Llama-3.2-3B-Instruct"],
)
def test_a_repository_is_meant_by_its_names_in_any_case(name: str) -> None:
    assert llama_names.means(name, "meta-llama/Llama-3.2-3B-Instruct")


@pytest.mark.parametrize("name", ["Llama3.2-1B-Instruct", "Llama3.2-3B", "other/Llama-3.2-3B-Instruct", ""])
def test_another_name_does_not_mean_it(name: str) -> None:
    assert not llama_names.means(name, "meta-llama/Llama-3.2-3B-Instruct")


def test_a_repository_that_llama_stack_does_not_know_has_no_other_names() -> None:
    assert not llama_names.means("org/model", "org/model")
    assert not llama_names.means("", "")


LISTED = """
import json
from llama_models.sku_list import all_registered_models
print(json.dumps({model.descriptor(): model.huggingface_repo for model in all_registered_models()}))
"""
LATER = {"Llama-Guard-4-12B": "meta-llama/Llama-Guard-4-12B"}
"""Came to the package after the API's own time."""


@pytest.mark.full
def test_the_names_are_those_of_llama_stack_s_own_package() -> None:
    variables = environment.python_with(environment.clients())
    listed = subprocess.run([environment.PYTHON, "-c", LISTED], env=variables, capture_output=True, check=True)
    assert json.loads(listed.stdout) == {**llama_names.REPOSITORIES, **LATER}
