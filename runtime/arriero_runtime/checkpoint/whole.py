"""Whether the weights in a folder are whole and belong to the model's configuration.

Reads headers alone. The engine leaves the room of a linear module that it finds no weights for as it is, without a
word, and so a part of one that it stacks, such as the queries of one layer: such a model answers, and answers nonsense.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from arriero_api.contract import Phase
from arriero_runtime.adapters import tensors
from arriero_runtime.adapters.tensors import Tensor, TensorsError
from arriero_runtime.checkpoint import numbers, siblings
from arriero_runtime.failing import StartError, start_error

_INDEX: Final = "model.safetensors.index.json"
_OTHER_COPY: Final = "consolidated"
_UNREAD: Final = ("--load-format", "--hf-overrides", "--model-weights", "--hf-config-path")
"""With one of these flags the engine may read something else than what stands in the folder."""
_POOLS: Final = ("--runner", "--convert")
"""With one of these flags the engine may need no head."""
_MODULES: Final = "modules.json"
"""Of a model whose answers are vectors, whatever its configuration says of it."""
_QUANTIZATION: Final = "hf_quant_config.json"
"""Where some tools tell the quantization, and config.json says nothing of it."""
_SHOWN: Final = 3
_LONGEST: Final = 400


def check(folder: Path, flags: Sequence[str] = (), *, pooling: bool = False) -> None:
    """Raises StartError (ModelIncomplete, WeightsInvalid). Says nothing of weights that are no safetensors.

    `pooling`: the model is wanted for vectors.
    """
    given = {flag.partition("=")[0].replace("_", "-") for flag in flags}
    if given.intersection(_UNREAD):
        return
    try:
        found = _tensors(folder)
        config = _configuration(folder)
    except TensorsError as error:
        raise _invalid(str(error)) from error
    except OSError as error:
        raise _invalid(f"{error.filename} cannot be read: {error.strerror}") from error
    if not found:
        return
    head = not (pooling or given.intersection(_POOLS) or (folder / _MODULES).is_file())
    if faults := siblings.missing(found, config, head=head):
        more = f" and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        raise _invalid(f"tensors are missing: {', '.join(faults[:_SHOWN])}{more}")
    if fault := numbers.contradiction(found, config, flags):
        raise _invalid(fault)


def _invalid(words: str) -> StartError:
    words = words if len(words) < _LONGEST else f"{words[:_LONGEST]}…"
    return start_error("WeightsInvalid", f"The weights are not whole, or not the model's: {words}.", Phase.LOADING)


def _configuration(folder: Path) -> dict[str, Any]:
    """All that is said of the model, in the words of whichever format it has."""
    config = _object(folder / "config.json") or _object(folder / "params.json")
    quantization = _object(folder / _QUANTIZATION)
    return config | {_QUANTIZATION: quantization} if quantization else config


def _tensors(folder: Path) -> dict[str, Tensor]:
    """All tensors by name, of the files that the engine reads. Raises TensorsError, OSError, StartError."""
    index = _object(folder / _INDEX)
    places = index.get("weight_map")
    if isinstance(places, dict) and places:
        return _indexed(folder, {str(name): str(file) for name, file in places.items()})
    files = sorted(folder.glob("*.safetensors"))
    parts = [file for file in files if not file.name.startswith(_OTHER_COPY)]
    found: dict[str, Tensor] = {}
    for file in parts or files:
        found |= tensors.read(file)
    return found


def _indexed(folder: Path, places: Mapping[str, str]) -> dict[str, Tensor]:
    files = sorted(set(places.values()))
    if absent := [file for file in files if not (folder / file).is_file()]:
        words = (
            f"{_INDEX} names {len(files)} files, and {len(absent)} of them are missing: {', '.join(absent[:_SHOWN])}."
        )
        raise start_error("ModelIncomplete", words, Phase.LOADING)
    held = {file: tensors.read(folder / file) for file in files}
    if strays := [name for name, file in places.items() if name not in held[file]]:
        raise TensorsError(f"{places[strays[0]]} lacks {strays[0]}, which {_INDEX} says it holds")
    return {name: tensor for file in files for name, tensor in held[file].items()}


def _object(path: Path) -> dict[str, Any]:
    """A JSON object in a file; empty where there is none: others tell of what is missing then."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise TensorsError(f"{path.name} is not JSON") from error
    return found if isinstance(found, dict) else {}
