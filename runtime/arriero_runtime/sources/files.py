"""Which files of a repository the engine needs, and which are there twice or for others."""

from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import PurePosixPath
from typing import Final

_FOLDERS_OF_OTHERS: Final = ("original", "onnx", "openvino", "coreml", "metal", "flax", "tf", "runs", "checkpoint-*")
_SMALL: Final = ("*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken", "*.spm", "*.vocab", "*.bpe")
_CODE: Final = ("*.py",)
_WEIGHTS: Final = (("*.safetensors",), ("*.bin", "*.pt"))
"""Kinds of weights that the engine reads, the wanted one first: only the first that a repository has is fetched. The
second are pickles, which the engine reads with torch's `weights_only`."""
_CONSOLIDATED: Final = "consolidated*"
_NOT_WEIGHTS: Final = ("training_args.bin", "optimizer*", "scheduler*", "rng_state*", "scaler*")
_CONFIGURATIONS: Final = ("config.json", "params.json")
KNOWN: Final = (
    *_CONFIGURATIONS,
    "model.safetensors.index.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "tokenizer.model",
    "tekken.json",
    "spiece.model",
    "sentencepiece.bpe.model",
    "chat_template.jinja",
    "chat_template.json",
    "preprocessor_config.json",
    "processor_config.json",
    "video_preprocessor_config.json",
    "hf_quant_config.json",
    "quantize_config.json",
    "quant_config.json",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
)
"""Names, weights aside, that models usually have: for sources that list nothing."""


def needed(paths: Iterable[str]) -> list[str]:
    """The paths to fetch, sorted. Weights are safetensors where there are any, without a second copy in one piece."""
    kept = [path for path in paths if not _of_others(path)]
    weights = _one_copy(_weights(kept))
    return sorted({path for path in kept if _matches(path, _SMALL)} | set(weights))


def needed_with_code(paths: Iterable[str]) -> list[str]:
    """As `needed`, and the model's own modules: for a model whose code may be run."""
    known = list(paths)
    code = [path for path in known if _matches(path, _CODE) and not _of_others(path)]
    return sorted({*needed(known), *code})


def is_weights(path: str) -> bool:
    """Whether a needed file holds weights: it is then large, and says nothing that the engine's arguments depend on."""
    return any(_matches(path, patterns) for patterns in _WEIGHTS)


def lacks(paths: Iterable[str]) -> str:
    """What the engine misses among these files, in words; empty when nothing is missing."""
    found = list(paths)
    if not any(path in _CONFIGURATIONS for path in found):
        return "config.json"
    return "" if _weights(found) else "weights (*.safetensors)"


def _of_others(path: str) -> bool:
    folders = PurePosixPath(path).parts[:-1]
    return any(fnmatch(folder, pattern) for folder in folders for pattern in _FOLDERS_OF_OTHERS)


def _matches(path: str, patterns: Iterable[str]) -> bool:
    name = PurePosixPath(path).name
    return any(fnmatch(name, pattern) for pattern in patterns)


def _weights(paths: list[str]) -> list[str]:
    for patterns in _WEIGHTS:
        found = [path for path in paths if _matches(path, patterns) and not _matches(path, _NOT_WEIGHTS)]
        if found:
            return found
    return []


def _one_copy(weights: list[str]) -> list[str]:
    parts = [path for path in weights if not _matches(path, (_CONSOLIDATED,))]
    return parts or weights
