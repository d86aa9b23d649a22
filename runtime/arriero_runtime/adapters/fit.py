"""Whether an adapter can work with the model, before the engine gets it.

The engine answers for a wrong rank or shape with an error of its worker, and loads without a word, and without effect,
what names modules that the model does not have.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from arriero_api.contract import Phase
from arriero_runtime.adapters import tensors
from arriero_runtime.adapters.base import BaseModules
from arriero_runtime.adapters.tensors import Tensor, TensorsError
from arriero_runtime.failing import StartError, start_error

CONFIG: Final = "adapter_config.json"
WEIGHTS: Final = "adapter_model.safetensors"
FILES: Final = (CONFIG, WEIGHTS)

_PREFIX: Final = "base_model.model."
_MATRIX: Final = re.compile(r"(?P<module>.+)\.lora_(?P<embedding>embedding_)?(?P<side>[AB])(?:\.weight)?$")
_WORDS: Final = 3
"""Most module names that a message lists."""


@dataclass
class _Pair:
    """The two matrices of one module: A is rank by inputs, B is outputs by rank."""

    a: Tensor | None = None
    b: Tensor | None = None
    embedding: bool = False


@dataclass(frozen=True, slots=True)
class _Adapter:
    ranks: list[int]
    pairs: dict[str, _Pair] = field(default_factory=dict)


def check(folder: Path, base: BaseModules | None, max_rank: int) -> None:
    """Raises StartError (AdapterInvalid, AdapterRankTooHigh, AdapterMismatch). `base` is None where it is unknown.

    Reads the configuration and the header of the weights.
    """
    adapter = _read(folder)
    highest = max(adapter.ranks)
    if highest > max_rank:
        raise refused("AdapterRankTooHigh", f"its rank is {highest}; spec.lora.maxRank is {max_rank}")
    if base is not None:
        _check_modules(adapter.pairs, base)


def refused(reason: str, words: str) -> StartError:
    """The failure of an adapter; the words begin with a small letter, for they follow its name."""
    return start_error(reason, words, Phase.READY)


def _read(folder: Path) -> _Adapter:
    config = _config(folder)
    try:
        found = tensors.read(folder / WEIGHTS)
    except TensorsError as error:
        raise refused("AdapterInvalid", str(error)) from error
    except OSError as error:
        raise refused("AdapterInvalid", f"{WEIGHTS} cannot be read: {error.strerror}") from error
    pairs = _pairs(found)
    return _Adapter([*_ranks(config), *(pair.a.shape[0] for pair in pairs.values() if pair.a)], pairs)


def _config(folder: Path) -> Mapping[str, Any]:
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except OSError as error:
        raise refused("AdapterInvalid", f"{CONFIG} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise refused("AdapterInvalid", f"{CONFIG} is not JSON") from error
    if not isinstance(config, dict) or config.get("peft_type", "LORA") != "LORA":
        raise refused("AdapterInvalid", f"{CONFIG} is not the configuration of a LoRA (peft_type LORA)")
    return config


def _ranks(config: Mapping[str, Any]) -> list[int]:
    pattern = config.get("rank_pattern") or {}
    found = [config.get("r"), *(pattern.values() if isinstance(pattern, dict) else [])]
    if not all(isinstance(rank, int) and rank > 0 for rank in found):
        raise refused("AdapterInvalid", f"{CONFIG} has no whole rank: r is {config.get('r')!r}")
    return [int(rank) for rank in found if rank]


def _pairs(found: Mapping[str, Tensor]) -> dict[str, _Pair]:
    pairs: dict[str, _Pair] = {}
    for name, tensor in found.items():
        if (match := _MATRIX.fullmatch(name)) is None:
            continue  # full weights beside it: the engine itself says which it takes
        if len(tensor.shape) < 2:
            raise refused("AdapterInvalid", f"the tensor {name} of {WEIGHTS} is no matrix")
        module = match["module"].removeprefix(_PREFIX).removesuffix(".base_layer")
        pair = pairs.setdefault(module, _Pair(embedding=bool(match["embedding"])))
        if match["side"] == "A":
            pair.a = tensor
        else:
            pair.b = tensor
    if not pairs:
        raise refused("AdapterInvalid", f"{WEIGHTS} holds no LoRA matrices (lora_A, lora_B)")
    if half := [module for module, pair in pairs.items() if pair.a is None or pair.b is None]:
        raise refused("AdapterInvalid", f"one of the two matrices is missing for {_some(half)}")
    return pairs


def _check_modules(pairs: Mapping[str, _Pair], base: BaseModules) -> None:
    if strange := [module for module in pairs if base.lacks(module)]:
        words = f"{len(strange)} of its {len(pairs)} modules do not exist in the model: {_some(strange)}"
        raise refused("AdapterMismatch", words)
    for module, pair in pairs.items():
        expected = base.shape(module)
        assert pair.a is not None and pair.b is not None
        if expected is None or len(pair.a.shape) != 2 or len(pair.b.shape) != 2:
            continue
        found = (pair.b.shape[0], pair.a.shape[1])
        if pair.embedding:
            found = (found[1], found[0])
        if found != expected:
            words = f"its {module} is {_size(found)}; the model's is {_size(expected)}"
            raise refused("AdapterMismatch", words)


def _size(shape: tuple[int, int]) -> str:
    return f"{shape[0]} by {shape[1]}"


def _some(modules: list[str]) -> str:
    more = f" and {len(modules) - _WORDS} more" if len(modules) > _WORDS else ""
    return ", ".join(modules[:_WORDS]) + more
