"""Whether the numbers that weights are stored in are those that the configuration announces.

The engine copies numbers of any kind into the room that it has made for others, without a word.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from arriero_runtime.adapters.tensors import Tensor

_PLAIN: Final = ("F64", "F32", "F16", "BF16")
_SCALED: Final = ("fp8", "fbgemm_fp8", "gptq", "awq")
"""Methods whose weights never come without scales."""
_CONFIGURATIONS: Final = ("quantization_config", "compression_config", "quantization")
_FLAG: Final = "--quantization"


def contradiction(found: Mapping[str, Tensor], config: Mapping[str, Any], flags: Sequence[str] = ()) -> str:
    """What does not fit, in words; empty where nothing contradicts."""
    announced = _announced(config)
    if announced is None and not any(flag.partition("=")[0] in (_FLAG, "-q") for flag in flags):
        packed = [name for name, tensor in found.items() if name.endswith(".weight") and tensor.dtype not in _PLAIN]
        if packed:
            return f"{packed[0]} holds {found[packed[0]].dtype} numbers, and config.json names no quantization"
    method = str((announced or {}).get("quant_method", "")).lower()
    if method in _SCALED and not any("scale" in name for name in found):
        return f"config.json says that they are quantized ({method}), and they have no scales"
    return ""


def _announced(config: Mapping[str, Any]) -> Mapping[str, Any] | None:
    parts = [config, *(value for value in config.values() if isinstance(value, dict))]
    for part in parts:
        for key in _CONFIGURATIONS:
            if isinstance(value := part.get(key), dict):
                return value
    return None
