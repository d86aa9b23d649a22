"""What is left in this process of an engine that has ended, in the memories of vLLM's functions: tokenizers above all,
tens of MB each, of which vLLM makes several for every engine."""

import importlib
import logging
from collections.abc import Mapping, Sequence
from typing import Final

_REMEMBERING: Final[Mapping[str, Sequence[str]]] = {
    # By the functions that it was asked of: those of a tokenizer are of a class of its own, which holds the tokenizer.
    "vllm.utils.func_utils": ("_supports_kw",),
    "vllm.tokenizers.registry": ("cached_get_tokenizer", "cached_resolve_tokenizer_args"),
    "vllm.transformers_utils.processor": (
        "cached_get_processor",
        "cached_get_feature_extractor",
        "cached_get_image_processor",
        "cached_get_video_processor",
        "get_processor_kwargs_type",
    ),
}
"""Module of vLLM → its functions that keep what they have given, or were given, for the life of the process."""
KEEPS: Final = "vLLM keeps something of its last engine"
log = logging.getLogger(__name__)


def forget() -> None:
    """Nothing of the last engine is remembered; a warning where vLLM remembers in another way."""
    for name, functions in _REMEMBERING.items():
        try:
            module = importlib.import_module(name)
            for function in functions:
                getattr(module, function).cache_clear()
        except (ImportError, AttributeError) as error:
            log.warning("%s: %s", KEEPS, error)
