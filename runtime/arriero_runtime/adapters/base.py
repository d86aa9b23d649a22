"""The modules of the base model, as far as its folder tells them."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from arriero_runtime.adapters import tensors
from arriero_runtime.adapters.tensors import Tensor

Shape = tuple[int, int]
"""Outputs and inputs of a linear module."""

_TAIL: Final = re.compile(r"(?:^|\.)((?:layers|h|blocks?)\.\d+\..+)$")
_PLAIN: Final = ("F64", "F32", "F16", "BF16")
"""Number formats in which a weight has the shape of its module; packed ones have another."""


@dataclass(frozen=True, slots=True)
class BaseModules:
    """`shapes` has every module, with None where its shape cannot be told (quantized and stacked weights).

    `loose`: the engine calls its modules by other names than the files, so that only the end of a name counts.
    """

    shapes: dict[str, Shape | None]
    loose: bool = False

    @classmethod
    def of_folder(cls, folder: Path) -> Self | None:
        """Those of a model's folder; None for weights whose names cannot be read. Reads headers alone."""
        found: dict[str, Tensor] = {}
        try:
            for file in sorted(folder.glob("*.safetensors")):
                found |= tensors.read(file)
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):  # TensorsError is one
            return None
        if not found:
            return None
        nested = any(key in config for key in ("text_config", "vision_config", "audio_config"))
        headless = not any(name.startswith("model.") for name in found)
        return cls(_shapes(found), loose=nested or headless)

    def lacks(self, module: str) -> bool:
        """Whether the model has no such module."""
        return not self._found(module)

    def shape(self, module: str) -> Shape | None:
        """Its shape; None where it cannot be told."""
        shapes = {self.shapes.get(name) for name in self._found(module)}
        return shapes.pop() if len(shapes) == 1 else None

    def _found(self, module: str) -> list[str]:
        """The modules of the files that the name may mean."""
        if module in self.shapes:
            return [module]
        if module == "lm_head":  # often it is the embedding, and has no weights of its own
            return [name for name in self.shapes if name.endswith("embed_tokens")]
        if ".experts" in module:  # stacked in one place, one by one in the other
            return [name for name in self.shapes if name.startswith(f"{module}.") or module.startswith(f"{name}.")]
        tail = _TAIL.search(module)
        if not self.loose or tail is None:
            return []
        return [name for name in self.shapes if name == tail[1] or name.endswith(f".{tail[1]}")]


def _shapes(found: dict[str, Tensor]) -> dict[str, Shape | None]:
    shapes: dict[str, Shape | None] = {}
    for name, tensor in found.items():
        module, _, kind = name.rpartition(".")
        if kind == "weight" and len(tensor.shape) == 2 and tensor.dtype in _PLAIN:
            shapes[module] = (tensor.shape[0], tensor.shape[1])
        else:
            shapes.setdefault(module, None)
    return shapes
