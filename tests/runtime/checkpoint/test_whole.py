"""What is wrong with the files of a model is told before the engine gets them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arriero_runtime.checkpoint import context, whole
from arriero_runtime.failing import StartError
from tests.models.edited import Tensor, Tensors, without, write

CONFIG: dict[str, Any] = {"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2, "tie_word_embeddings": True}
Q = "model.layers.1.self_attn.q_proj.weight"


def tensors() -> Tensors:
    parts = (
        "self_attn.q_proj",
        "self_attn.k_proj",
        "self_attn.v_proj",
        "self_attn.o_proj",
        "mlp.up_proj",
        "mlp.down_proj",
    )
    names = [f"model.layers.{index}.{part}.weight" for index in (0, 1) for part in parts]
    return {name: Tensor("BF16", (2, 2), bytes(8)) for name in ["model.embed_tokens.weight", *names]}


def model(folder: Path, change: Callable[[Tensors], None] = lambda found: None, **config: Any) -> Path:
    folder.mkdir()
    held = tensors()
    change(held)
    write(folder / "model.safetensors", held)
    (folder / "config.json").write_text(json.dumps(CONFIG | config))
    return folder


def refused(folder: Path, *flags: str) -> tuple[str, str]:
    with pytest.raises(StartError) as found:
        whole.check(folder, flags)
    return found.value.failure.reason, found.value.failure.message


def test_a_whole_model_passes(tmp_path: Path) -> None:
    whole.check(model(tmp_path / "m"))


def test_a_missing_tensor_is_named(tmp_path: Path) -> None:
    reason, words = refused(model(tmp_path / "m", without(Q)))
    assert (reason, "tensors are missing: model.layers.1.self_attn.q_proj" in words) == ("WeightsInvalid", True)


@pytest.mark.parametrize("flag", ["--load-format=dummy", "--hf_overrides={}"])
def test_where_the_engine_reads_something_else_nothing_is_said(tmp_path: Path, flag: str) -> None:
    whole.check(model(tmp_path / "m", without(Q)), [flag])


def test_a_file_that_is_cut_off_is_told(tmp_path: Path) -> None:
    file = model(tmp_path / "m") / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    reason, words = refused(tmp_path / "m")
    assert (reason, "it is cut off" in words) == ("WeightsInvalid", True)


def sharded(folder: Path) -> Path:
    folder.mkdir()
    held = tensors()
    names = list(held)
    places = {name: f"model-0000{1 + at % 2}-of-00002.safetensors" for at, name in enumerate(names)}
    for file in set(places.values()):
        write(folder / file, {name: held[name] for name in names if places[name] == file})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    (folder / "config.json").write_text(json.dumps(CONFIG))
    return folder


def test_a_model_in_several_files_passes(tmp_path: Path) -> None:
    whole.check(sharded(tmp_path / "m"))


def test_a_file_that_the_index_names_must_be_there(tmp_path: Path) -> None:
    (sharded(tmp_path / "m") / "model-00002-of-00002.safetensors").unlink()
    reason, words = refused(tmp_path / "m")
    assert (reason, "missing: model-00002-of-00002.safetensors" in words) == ("ModelIncomplete", True)


def test_a_tensor_must_be_in_the_file_that_the_index_names(tmp_path: Path) -> None:
    write(sharded(tmp_path / "m") / "model-00002-of-00002.safetensors", {})
    reason, words = refused(tmp_path / "m")
    assert (reason, "model-00002-of-00002.safetensors lacks model." in words) == ("WeightsInvalid", True)


def packed(held: Tensors) -> None:
    held[Q] = Tensor("I8", (2, 2), bytes(4))


def test_numbers_of_another_kind_without_a_quantization_are_told(tmp_path: Path) -> None:
    reason, words = refused(model(tmp_path / "m", packed))
    assert (reason, f"{Q} holds I8 numbers" in words) == ("WeightsInvalid", True)


@pytest.mark.parametrize(
    "how", [{"quantization_config": {"quant_method": "x"}}, {"text_config": {"quantization_config": {}}}]
)
def test_numbers_of_a_quantization_pass(tmp_path: Path, how: dict[str, Any]) -> None:
    whole.check(model(tmp_path / "m", packed, **how))


def test_a_quantization_in_a_file_of_its_own_counts(tmp_path: Path) -> None:
    folder = model(tmp_path / "m", packed)
    (folder / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "FP8"}}')
    whole.check(folder)


def test_a_model_without_a_config_json_tells_its_quantization_in_its_other_configuration(tmp_path: Path) -> None:
    folder = model(tmp_path / "m", packed)
    (folder / "config.json").unlink()
    assert refused(folder)[0] == "WeightsInvalid"
    (folder / "params.json").write_text('{"dim": 2, "quantization": {"qformat_weight": "fp8_e4m3"}}')
    whole.check(folder)


def test_a_head_is_missed_only_where_the_model_is_to_write(tmp_path: Path) -> None:
    folder = model(tmp_path / "m", tie_word_embeddings=False)
    assert "tensors are missing: lm_head" in refused(folder)[1]
    whole.check(folder, pooling=True)
    whole.check(folder, ["--runner", "pooling"])
    (folder / "modules.json").write_text("[]")
    whole.check(folder)


def test_a_quantization_on_the_command_line_counts(tmp_path: Path) -> None:
    whole.check(model(tmp_path / "m", packed), ["--quantization", "x"])


@pytest.mark.parametrize("method", ["fp8", "gptq", "awq"])
def test_a_quantization_whose_scales_are_missing_is_told(tmp_path: Path, method: str) -> None:
    reason, words = refused(model(tmp_path / "m", quantization_config={"quant_method": method}))
    assert (reason, f"({method}), and they have no scales" in words) == ("WeightsInvalid", True)


def test_weights_that_are_no_safetensors_are_left_to_the_engine(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    whole.check(tmp_path)


@pytest.mark.parametrize(
    ("flags", "length"),
    [
        ([], 0),
        (["--max-model-len", "4096"], 4096),
        (["--max_model_len=8192"], 8192),
        (["--max-model-len", "4096", "--max-model-len=1"], 1),
        (["--max-model-len", "4k"], 0),
        (["--max-model-len"], 0),
    ],
)
def test_the_length_that_flags_ask_for(flags: list[str], length: int) -> None:
    assert context.asked(flags) == length


@pytest.mark.parametrize(
    ("config", "length"),
    [
        ({"max_position_embeddings": 2048}, 2048),
        ({"text_config": {"max_position_embeddings": 4096}, "vision_config": {"max_position_embeddings": 77}}, 4096),
        ({"max_position_embeddings": 2048, "model_max_length": 16384}, 16384),
        ({"max_position_embeddings": 2048, "rope_scaling": {"rope_type": "linear", "factor": 4.0}}, 0),
        ({"max_position_embeddings": 2048, "rope_scaling": {"type": "dynamic", "factor": 4.0}}, 0),
        ({"max_position_embeddings": 2048, "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}, 2048),
        ({"max_position_embeddings": 2048, "rope_parameters": {"full": {"rope_type": "yarn"}}}, 0),
        ({"max_position_embeddings": 2048, "rope_scaling": None}, 2048),
        ({"hidden_size": 64}, 0),
    ],
)
def test_the_length_that_a_configuration_has_beyond_doubt(tmp_path: Path, config: dict[str, Any], length: int) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert context.longest(tmp_path) == length


def test_a_context_that_is_too_long_is_told_with_both_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text('{"max_position_embeddings": 2048}')
    context.check(tmp_path, ["--max-model-len=2048"])
    with pytest.raises(StartError) as found:
        context.check(tmp_path, ["--max-model-len=2049"])
    told = found.value.failure
    assert (told.reason, dict(told.details)) == ("ContextTooLong", {"largestMaxModelLen": 2048})
    assert "2048" in told.message
    assert "2049" in told.message
    monkeypatch.setenv("VLLM_ALLOW_LONG_MAX_MODEL_LEN", "1")
    context.check(tmp_path, ["--max-model-len=2049"])
