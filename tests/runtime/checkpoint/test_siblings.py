"""Tensors that a sound checkpoint would have are missed; what models of many kinds leave out on purpose is not."""

from collections.abc import Iterable
from typing import Any

import pytest

from arriero_runtime.checkpoint.siblings import missing

LLAMA: dict[str, Any] = {"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 4, "tie_word_embeddings": False}
ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
MLP = ("gate_proj", "up_proj", "down_proj")
NORMS = ("input_layernorm", "post_attention_layernorm")


def layer(
    index: int, attention: Iterable[str] = ATTENTION, mlp: Iterable[str] = MLP, norms: Iterable[str] = NORMS
) -> set[str]:
    inside = [*(f"self_attn.{one}" for one in attention), *(f"mlp.{one}" for one in mlp), *norms]
    return {f"model.layers.{index}.{one}.weight" for one in inside}


def llama(layers: int = 4) -> set[str]:
    body: set[str] = set().union(*(layer(index) for index in range(layers)))
    return body | {"model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"}


def experts(index: int, count: int = 4) -> set[str]:
    names = {f"model.layers.{index}.mlp.experts.{one}.{part}.weight" for one in range(count) for part in MLP}
    return layer(index, mlp=()) | names | {f"model.layers.{index}.mlp.gate.weight"}


def test_a_whole_model_misses_nothing() -> None:
    assert missing(llama(), LLAMA) == []


@pytest.mark.parametrize("layers", [2, 4])
@pytest.mark.parametrize("part", [*(f"self_attn.{one}" for one in ATTENTION), *(f"mlp.{one}" for one in MLP)])
def test_every_part_of_one_layer_is_missed(layers: int, part: str) -> None:
    lost = f"model.layers.1.{part}"
    found = missing(llama(layers) - {f"{lost}.weight"}, LLAMA | {"num_hidden_layers": layers})
    assert lost in found


@pytest.mark.parametrize("lost", ["model.embed_tokens", "lm_head"])
def test_the_embedding_and_the_head_are_missed(lost: str) -> None:
    assert missing(llama() - {f"{lost}.weight"}, LLAMA) == [lost]


def test_a_head_that_is_the_embedding_is_not_missed() -> None:
    assert missing(llama() - {"lm_head.weight"}, LLAMA | {"tie_word_embeddings": True}) == []


@pytest.mark.parametrize("index", [0, 1, 3])
def test_a_layer_is_missed_wherever_it_stood(index: int) -> None:
    assert missing(llama() - layer(index), LLAMA) == [f"model.layers.{index}"]


def test_a_module_of_one_layer_is_missed_as_one() -> None:
    lost = {name for name in llama() if name.startswith("model.layers.2.mlp.")}
    assert missing(llama() - lost, LLAMA) == ["model.layers.2.mlp"]


def test_queries_that_are_missing_in_several_layers_are_missed() -> None:
    lost = {f"model.layers.{index}.self_attn.q_proj.weight" for index in (0, 1)}
    assert missing(llama() - lost, LLAMA) == [f"model.layers.{index}.self_attn.q_proj" for index in (0, 1)]


def test_a_bias_of_one_layer_is_missed() -> None:
    biased = llama() | {f"model.layers.{index}.self_attn.q_proj.bias" for index in (0, 1, 3)}
    assert missing(biased, LLAMA) == ["model.layers.2.self_attn.q_proj.bias"]


def test_one_expert_of_one_layer_is_missed() -> None:
    names = set().union(*(experts(index) for index in range(4))) | {"model.embed_tokens.weight", "lm_head.weight"}
    lost = {name for name in names if ".2.mlp.experts.3." in name}
    assert missing(names, LLAMA) == []
    assert missing(names - lost, LLAMA) == ["model.layers.2.mlp.experts.3"]


def test_dense_layers_among_layers_of_experts_miss_nothing() -> None:
    names = layer(0) | experts(1) | experts(2) | experts(3) | {"model.embed_tokens.weight", "lm_head.weight"}
    assert missing(names, LLAMA) == []


def test_a_layer_that_guesses_ahead_is_no_measure_for_the_others() -> None:
    ahead = layer(4) | {"model.layers.4.eh_proj.weight", "model.layers.4.mlp.shared.weight"}
    assert missing(llama() | ahead, LLAMA) == []


def test_layers_that_share_the_keys_of_others_miss_nothing() -> None:
    names = layer(0) | layer(1) | layer(2, ("q_proj", "o_proj")) | layer(3, ("q_proj", "o_proj"))
    assert missing(names | {"model.embed_tokens.weight", "lm_head.weight"}, LLAMA) == []


def test_layers_of_two_kinds_miss_nothing() -> None:
    mamba = {f"model.layers.{index}.mamba.{one}.weight" for index in (1, 2) for one in ("in_proj", "out_proj")}
    names = layer(0) | layer(3) | mamba | layer(1, ()) | layer(2, ())
    assert missing(names | {"model.embed_tokens.weight", "lm_head.weight"}, LLAMA) == []


def test_a_first_layer_without_a_norm_misses_nothing() -> None:
    names = llama() - {"model.layers.0.input_layernorm.weight"}
    assert missing(names, LLAMA) == []


def test_layers_that_keep_their_numbers_plain_in_a_quantized_model_miss_nothing() -> None:
    packed = {name.removesuffix("weight") + "weight_scale" for name in llama() if ".0." not in name and "proj" in name}
    quantized = LLAMA | {"quantization_config": {"quant_method": "compressed-tensors"}}
    assert missing(llama() | packed, quantized) == []
    lost = "model.layers.2.mlp.up_proj"
    assert missing({name for name in llama() | packed if not name.startswith(lost)}, quantized) == [lost]


def test_a_model_with_layers_that_may_be_empty_is_left_alone() -> None:
    assert missing(llama() - layer(2), LLAMA | {"block_configs": []}) == []


def test_steps_without_weights_in_a_sequence_of_plain_modules_are_not_missed() -> None:
    names = {f"visual.merger.layers.{index}.weight" for index in (0, 2, 4)}
    assert missing(llama() | names, LLAMA) == []


def test_a_head_is_not_missed_where_the_model_is_not_to_write() -> None:
    assert missing(llama() - {"lm_head.weight"}, LLAMA, head=False) == []


def test_one_layer_of_another_kind_is_no_less_for_what_the_others_have() -> None:
    """Such as one whose values are its keys."""
    names = llama() - {"model.layers.3.self_attn.v_proj.weight"}
    kinds = ["sliding_attention"] * 3 + ["full_attention"]
    assert missing(names, LLAMA | {"layer_types": kinds}) == []
    assert missing(names, LLAMA) == ["model.layers.3.self_attn.v_proj"]
    lost = "model.layers.1.mlp.up_proj"
    assert missing(names - {f"{lost}.weight"}, LLAMA | {"layer_types": kinds}) == [lost]


def test_one_layer_that_shares_the_keys_of_another_misses_nothing() -> None:
    names = llama(3) | layer(3, ("q_proj", "o_proj"))
    assert missing(names, LLAMA | {"num_kv_shared_layers": 1}) == []
    assert missing(names, LLAMA) != []


def test_the_vision_part_of_a_model_may_name_its_gate_s_other_half_in_its_own_way() -> None:
    names = {f"visual.linear_proj.{one}.weight" for one in ("gate_proj", "dense_h_to_4h", "dense_4h_to_h")}
    assert missing(llama() | names, LLAMA) == []
