"""Names, types and shapes of the tensors of a safetensors file: its header alone, never the weights.

The file begins with the header's length (8 bytes, little-endian) and the header, a JSON object; the data follow.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_LENGTH_BYTES: Final = 8
_LONGEST: Final = 100_000_000
"""The format's own bound of a header."""


class TensorsError(ValueError):
    """The file is no whole safetensors file; the text says why."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor. `dtype` is the format's own word, such as BF16."""

    dtype: str
    shape: tuple[int, ...]


def read(path: Path) -> dict[str, Tensor]:
    """The tensors by name. Raises TensorsError, also for a file that ends too early, and OSError."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        if not 2 <= length <= min(_LONGEST, size - _LENGTH_BYTES):
            raise TensorsError(f"{path.name} has no header of the safetensors format")
        text = file.read(length)
    try:
        header = json.loads(text)
        found = {name: entry for name, entry in header.items() if name != "__metadata__"}
        tensors = {name: Tensor(str(e["dtype"]), tuple(int(n) for n in e["shape"])) for name, e in found.items()}
        end = max((int(entry["data_offsets"][1]) for entry in found.values()), default=0)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise TensorsError(f"{path.name} has a broken header") from error
    if _LENGTH_BYTES + length + end > size:
        raise TensorsError(f"{path.name} has {size} bytes of {_LENGTH_BYTES + length + end}: it is cut off")
    return tensors
