"""Whether the context that is asked for is longer than the model's, by its configuration alone.

Only where that is beyond doubt: the engine itself knows more, such as how a scaling of positions lengthens it.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from arriero_api.contract import Phase
from arriero_runtime.failing import start_error

_FLAG: Final = "--max-model-len"
_LENGTHS: Final = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "max_seq_length",
    "seq_length",
    "seq_len",
    "max_sequence_length",
    "model_max_length",
    "max_target_positions",
    "n_ctx",
)
"""Members of a configuration that may hold the length of a context."""
_SCALED: Final = ("rope_scaling", "rope_parameters")
_ANYTHING_GOES: Final = "VLLM_ALLOW_LONG_MAX_MODEL_LEN"


def check(folder: Path, flags: Sequence[str]) -> None:
    """Raises StartError (ContextTooLong) that names both lengths, in tokens."""
    wanted = asked(flags)
    largest = longest(folder)
    if wanted and largest and wanted > largest and os.environ.get(_ANYTHING_GOES, "0") in ("", "0"):
        raise start_error(
            "ContextTooLong",
            f"The model's context holds {largest} tokens; maxModelLen asks for {wanted}.",
            Phase.DOWNLOADING,
            details={"largestMaxModelLen": largest},
        )


def asked(flags: Sequence[str]) -> int:
    """The length that the engine's flags ask for; 0 where they ask for none, or not in plain tokens."""
    found = ""
    for flag, following in zip(flags, [*flags[1:], ""], strict=False):
        name, given, value = flag.partition("=")
        if name.replace("_", "-") == _FLAG:
            found = value if given else following
    return int(found) if found.isascii() and found.isdigit() else 0


def longest(folder: Path) -> int:
    """The length that the model in `folder` has beyond doubt; 0 where there is doubt."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return 0
    parts = list(_parts(config))
    if any(_scales(part.get(key)) for part in parts for key in _SCALED):
        return 0
    lengths = [part.get(key) for part in parts for key in _LENGTHS]
    return max((length for length in lengths if isinstance(length, int)), default=0)


def _parts(config: Any) -> Iterator[Mapping[str, Any]]:
    """A configuration and those inside of it, such as that of a language model that also sees."""
    if isinstance(config, dict):
        yield config
        for value in config.values():
            yield from _parts(value)


def _scales(positions: Any) -> bool:
    """Whether positions are scaled: the plain kind has no factor."""
    if not isinstance(positions, dict):
        return positions is not None
    kinds = {positions.get("rope_type", "default"), positions.get("type", "default")}
    return kinds != {"default"} or any(_scales(value) for value in positions.values() if isinstance(value, dict))
