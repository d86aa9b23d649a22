"""Copies of a model folder with other weights: tensors taken away, or filled with something else."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

WEIGHTS: Final = "model.safetensors"
_LENGTH_BYTES: Final = 8


@dataclass(frozen=True)
class Tensor:
    """As a safetensors file holds it."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    def filled(self, piece: bytes) -> "Tensor":
        """The same size, of nothing but this piece."""
        return replace(self, data=piece * (len(self.data) // len(piece)))


Tensors = dict[str, Tensor]


def without(*names: str) -> Callable[[Tensors], None]:
    """The change that takes these tensors away."""

    def change(tensors: Tensors) -> None:
        for name in names:
            del tensors[name]

    return change


def edited(base: Path, folder: Path, change: Callable[[Tensors], None], **config: Any) -> Path:
    """Write the copy to `folder`, which must not exist. `config` replaces members of the configuration."""
    shutil.copytree(base, folder)
    tensors = read(folder / WEIGHTS)
    change(tensors)
    write(folder / WEIGHTS, tensors)
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | config))
    return folder


def read(path: Path) -> Tensors:
    """All tensors of a file."""
    data = path.read_bytes()
    start = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
    header = json.loads(data[_LENGTH_BYTES:start])
    header.pop("__metadata__", None)
    return {
        name: Tensor(one["dtype"], tuple(one["shape"]), data[slice(*(start + end for end in one["data_offsets"]))])
        for name, one in header.items()
    }


def write(path: Path, tensors: Tensors) -> None:
    """A whole file of these tensors."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, one in tensors.items():
        header[name] = {"dtype": one.dtype, "shape": one.shape, "data_offsets": [end, end + len(one.data)]}
        end += len(one.data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % _LENGTH_BYTES)
    body = b"".join(one.data for one in tensors.values())
    path.write_bytes(len(text).to_bytes(_LENGTH_BYTES, "little") + text + body)
