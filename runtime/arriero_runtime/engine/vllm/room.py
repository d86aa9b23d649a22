"""A request for more tokens than the context has room for behind its prompt is refused, as OpenAI's service does. vLLM
alone would cut the answer short, and a client that counts on its length would take a part for the whole."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Final

_ROUTES: Final[Mapping[str, str]] = {
    "chat_completion": "max_tokens",
    "completion": "max_tokens",
    "responses": "max_output_tokens",
}
"""Module of vLLM's OpenAI routes → the parameter that says how long an answer may be."""


def refuse_what_does_not_fit() -> None:
    """For all requests of this process from now on."""
    for name, parameter in _ROUTES.items():
        module = importlib.import_module(f"vllm.entrypoints.openai.{name}.serving")
        if not hasattr(module, "get_max_tokens"):
            raise RuntimeError(f"vLLM's {name} finds the length of its answers in another way")
        vars(module)["get_max_tokens"] = _bounded(parameter)


def _bounded(parameter: str) -> Callable[..., int]:
    from vllm.entrypoints.serve.utils.api_utils import get_max_tokens
    from vllm.exceptions import VLLMValidationError

    def found(
        max_model_len: int,
        asked: int | None,
        input_length: int,
        defaults: dict[str, Any],
        cap: int | None = None,
        truncate_prompt_tokens: int | None = None,
    ) -> int:
        wanted = asked if asked is None or cap is None else min(asked, cap)
        rest = max_model_len - input_length
        if truncate_prompt_tokens is None and wanted is not None and wanted > rest >= 0:
            raise VLLMValidationError(
                f"The context holds {max_model_len} tokens: {input_length} are in the prompt and {asked} are asked for "
                f"with {parameter}, where at most {rest} fit.",
                parameter=parameter,
                value=asked,
            )
        return int(get_max_tokens(max_model_len, asked, input_length, defaults, cap, truncate_prompt_tokens))

    return found
