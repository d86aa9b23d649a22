"""An adapter that cannot work is refused before the engine gets it, with what is wrong."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from arriero_runtime.adapters import tensors
from arriero_runtime.adapters.base import BaseModules
from arriero_runtime.adapters.fit import CONFIG, WEIGHTS, check
from arriero_runtime.adapters.tensors import TensorsError
from arriero_runtime.failing import StartError
from tests.models.lora import adapter, write_tensors

CONFIGURATION = {"num_hidden_layers": 2, "hidden_size": 16, "num_attention_heads": 2, "num_key_value_heads": 1}
MAX_RANK = 8


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama's folder as far as its names and shapes go."""
    folder = tmp_path_factory.mktemp("model")
    (folder / "config.json").write_text(json.dumps(CONFIGURATION))
    matrices = {"model.embed_tokens.weight": (32, 16)}
    for layer in range(2):
        for module, rows in (("q_proj", 16), ("k_proj", 8), ("v_proj", 8), ("o_proj", 16)):
            matrices[f"model.layers.{layer}.self_attn.{module}.weight"] = (rows, 16)
    write_tensors(folder / "model.safetensors", matrices, random.Random(0))
    return folder


@pytest.fixture
def base(model: Path) -> BaseModules:
    found = BaseModules.of_folder(model)
    assert found is not None
    return found


def refusal(folder: Path, base: BaseModules | None) -> str:
    """Reason and message of the refusal."""
    with pytest.raises(StartError) as caught:
        check(folder, base, MAX_RANK)
    return str(caught.value)


def test_an_adapter_of_the_model_passes(model: Path, base: BaseModules, tmp_path: Path) -> None:
    check(adapter(model, tmp_path, rank=7, modules=("q_proj", "k_proj", "v_proj", "o_proj")), base, MAX_RANK)


def test_a_rank_above_the_pods_is_told_with_both_numbers(model: Path, base: BaseModules, tmp_path: Path) -> None:
    assert refusal(adapter(model, tmp_path, rank=16), base) == (
        "AdapterRankTooHigh: its rank is 16; spec.lora.maxRank is 8"
    )


def test_a_rank_that_only_the_pattern_names_counts_too(model: Path, base: BaseModules, tmp_path: Path) -> None:
    config = json.loads((adapter(model, tmp_path) / CONFIG).read_text())
    (tmp_path / CONFIG).write_text(json.dumps(config | {"rank_pattern": {"q_proj": 64}}))
    assert refusal(tmp_path, base).startswith("AdapterRankTooHigh: its rank is 64")


def test_modules_that_the_model_does_not_have_are_named(model: Path, base: BaseModules, tmp_path: Path) -> None:
    """The engine would load them, and they would do nothing."""
    assert "2 of its 4 modules do not exist in the model: model.layers.0.self_attn.query" in refusal(
        adapter(model, tmp_path / "names", modules=("q_proj", "query")), base
    )
    assert "1 of its 3 modules do not exist in the model: model.layers.2.self_attn.q_proj" in refusal(
        adapter(model, tmp_path / "layers", modules=("q_proj",), layers=3), base
    )


def test_shapes_of_another_model_are_told(model: Path, base: BaseModules, tmp_path: Path) -> None:
    larger = tmp_path / "larger"
    larger.mkdir()
    (larger / "config.json").write_text(json.dumps(CONFIGURATION | {"hidden_size": 24, "head_dim": 8}))
    assert refusal(adapter(larger, tmp_path / "adapter"), base) == (
        "AdapterMismatch: its model.layers.0.self_attn.q_proj is 16 by 24; the model's is 16 by 16"
    )


def test_a_head_that_is_tied_to_the_embedding_has_the_embeddings_shape(base: BaseModules) -> None:
    assert base.shape("lm_head") == (32, 16)


def test_quantized_weights_have_a_name_and_no_shape() -> None:
    base = BaseModules({"model.layers.0.self_attn.q_proj": None})
    assert not base.lacks("model.layers.0.self_attn.q_proj")
    assert base.shape("model.layers.0.self_attn.q_proj") is None


@pytest.mark.parametrize(("loose", "lacks"), [(False, True), (True, False)])
def test_only_where_the_engine_renames_modules_does_the_end_of_a_name_count(loose: bool, lacks: bool) -> None:
    base = BaseModules({"language_model.model.layers.0.self_attn.q_proj": (16, 16)}, loose)
    assert base.lacks("model.language_model.layers.0.self_attn.q_proj") is lacks
    assert base.lacks("model.language_model.layers.9.self_attn.q_proj")


def test_a_model_without_readable_names_leaves_the_rest_to_the_engine(model: Path, tmp_path: Path) -> None:
    assert BaseModules.of_folder(tmp_path) is None
    check(adapter(model, tmp_path / "adapter", modules=("query",)), None, MAX_RANK)


def _no_config(folder: Path) -> None:
    (folder / CONFIG).unlink()


def _broken_config(folder: Path) -> None:
    (folder / CONFIG).write_text("{")


def _another_kind(folder: Path) -> None:
    (folder / CONFIG).write_text('{"peft_type": "PREFIX_TUNING"}')


def _no_rank(folder: Path) -> None:
    (folder / CONFIG).write_text('{"peft_type": "LORA"}')


def _no_weights(folder: Path) -> None:
    (folder / WEIGHTS).unlink()


def _cut(folder: Path) -> None:
    whole = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(whole[:-1])


def _full_weights(folder: Path) -> None:
    write_tensors(folder / WEIGHTS, {"base_model.model.lm_head.weight": (4, 4)}, random.Random(0))


def _half(folder: Path) -> None:
    name = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"
    write_tensors(folder / WEIGHTS, {name: (8, 16)}, random.Random(0))


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (_no_config, "adapter_config.json cannot be read: No such file"),
        (_broken_config, "adapter_config.json is not JSON"),
        (_another_kind, "not the configuration of a LoRA"),
        (_no_rank, "no whole rank: r is None"),
        (_no_weights, "adapter_model.safetensors cannot be read: No such file"),
        (_cut, "it is cut off"),
        (_full_weights, "holds no LoRA matrices"),
        (_half, "one of the two matrices is missing for model.layers.0.self_attn.q_proj"),
    ],
)
def test_files_that_are_no_whole_adapter_are_refused(
    model: Path, base: BaseModules, tmp_path: Path, harm: Callable[[Path], None], says: str
) -> None:
    harm(adapter(model, tmp_path))
    found = refusal(tmp_path, base)
    assert found.startswith("AdapterInvalid: ")
    assert says in found


@pytest.mark.parametrize("content", [b"", b"\xff" * 64, b"\x02\0\0\0\0\0\0\0[]", b'\x08\0\0\0\0\0\0\0{"a": 1}'])
def test_what_is_no_safetensors_file_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(TensorsError):
        tensors.read(tmp_path / "x")
