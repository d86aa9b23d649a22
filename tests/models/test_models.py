"""The model folders are what a hub would give: complete, plain, readable by everyone."""

import json
from pathlib import Path

import pytest

from tests.models import smollm2, tiny

pytestmark = pytest.mark.node  # they need the runtime's packages, which the real node has anyway


@pytest.fixture(scope="module", params=[smollm2, tiny], ids=["smollm2", "tiny"])
def folder(request: pytest.FixtureRequest) -> Path:
    """Each model folder."""
    made = request.param()
    assert isinstance(made, Path)
    return made


def test_a_model_folder_has_all_that_the_engine_reads(folder: Path) -> None:
    assert {file.name for file in folder.iterdir()} == {
        "chat_template.jinja",
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }


def test_a_model_folder_can_be_read_by_any_user(folder: Path) -> None:
    assert folder.stat().st_mode & 0o005 == 0o005
    assert all(file.stat().st_mode & 0o004 for file in folder.iterdir())


def test_the_weights_are_plain_bfloat16_of_a_size_that_the_engine_takes(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLM"]
    assert config["dtype"] == "bfloat16"
    assert "quantization_config" not in config
    assert config["head_dim"] >= 32


def test_the_chat_ends_with_the_token_that_the_tokenizer_ends_with(folder: Path) -> None:
    tokenizer = json.loads((folder / "tokenizer_config.json").read_text())
    vocabulary = json.loads((folder / "tokenizer.json").read_text())
    ids = {token["content"]: token["id"] for token in vocabulary["added_tokens"]}
    generation = json.loads((folder / "generation_config.json").read_text())
    assert generation["eos_token_id"] == ids[tokenizer["eos_token"]]
    assert tokenizer["eos_token"] in (folder / "chat_template.jinja").read_text()


def test_a_folder_is_made_once(folder: Path) -> None:
    before = (folder / "model.safetensors").stat().st_ino
    again = tiny() if "tiny" in str(folder) else smollm2()
    assert (again / "model.safetensors").stat().st_ino == before
