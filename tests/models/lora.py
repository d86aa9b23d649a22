"""LoRA adapters made by hand for a model folder: written with the standard library, no training, no tools.

Their random weights are large, so that a model answers visibly otherwise with them.
"""

import json
import random
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Final

STRENGTH: Final = 0.2
"""Standard deviation of all weights."""
ATTENTION: Final = ("q_proj", "v_proj")

Matrix = tuple[int, int]


def adapter(
    base: Path,
    folder: Path,
    *,
    rank: int = 8,
    seed: int = 1,
    modules: Iterable[str] = ATTENTION,
    layers: int | None = None,
) -> Path:
    """Write an adapter of PEFT's form for the Llama in `base`; gives `folder`. Another seed gives other weights.

    `modules` are names within the attention, also ones that do not exist; `layers` may be more than the base has.
    """
    config = json.loads((base / "config.json").read_text())
    chance, targets = random.Random(seed), list(modules)
    matrices: dict[str, Matrix] = {}
    for layer in range(config["num_hidden_layers"] if layers is None else layers):
        for module in targets:
            outputs, inputs = _shape(config, module)
            place = f"base_model.model.model.layers.{layer}.self_attn.{module}"
            matrices[f"{place}.lora_A.weight"] = (rank, inputs)
            matrices[f"{place}.lora_B.weight"] = (outputs, rank)
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(folder / "adapter_model.safetensors", matrices, chance)
    settings = {"peft_type": "LORA", "r": rank, "lora_alpha": 2 * rank, "target_modules": targets, "bias": "none"}
    (folder / "adapter_config.json").write_text(json.dumps(settings | {"task_type": "CAUSAL_LM"}))
    return folder


def write_tensors(path: Path, matrices: dict[str, Matrix], chance: random.Random) -> None:
    """A safetensors file of random matrices (32-bit floats): header's length, header, data."""
    header: dict[str, object] = {}
    data = bytearray()
    for name, (rows, columns) in matrices.items():
        begin = len(data)
        data += array("f", (chance.gauss(0, STRENGTH) for _ in range(rows * columns))).tobytes()
        header[name] = {"dtype": "F32", "shape": [rows, columns], "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def _shape(config: dict[str, int], module: str) -> Matrix:
    """Outputs and inputs of a module of the attention."""
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    size = config.get("head_dim") or hidden // heads
    if module in ("k_proj", "v_proj"):
        return config["num_key_value_heads"] * size, hidden
    return (hidden, heads * size) if module == "o_proj" else (heads * size, hidden)
