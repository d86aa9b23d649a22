"""As `fields`, for the routes of other APIs than OpenAI's: Anthropic's messages, Cohere's embeddings.

The parameters that have an effect are the engine's own lists (`tests/runtime/openai/vllm_lists.json`); all others of
these APIs, and what may be asked of them without an effect, are those of their publishers' Python clients.
"""

from collections.abc import Mapping
from typing import Any, Final

from arriero_runtime.server.routes import COUNT_TOKENS, EMBED, MESSAGES

_COUNTED: Final = frozenset(
    {"model", "messages", "output_config", "system", "thinking", "tool_choice", "tools", "chat_template_kwargs"}
)
_SAID: Final = frozenset(
    {"max_tokens", "stop_sequences", "stream", "temperature", "top_k", "top_p", "cache_salt", "watermarking"}
    | {"kv_transfer_params", "ec_transfer_params", "vllm_xargs"}
)
TAKEN: Final[Mapping[str, frozenset[str]]] = {
    MESSAGES: _COUNTED | _SAID,
    COUNT_TOKENS: _COUNTED,
    EMBED: frozenset(
        {"model", "input_type", "texts", "images", "inputs", "output_dimension", "embedding_types", "truncate"}
        | {"max_tokens", "priority"}
    ),
}

_HINTS: Final = frozenset({"metadata", "cache_control"})
"""`metadata` names who asks; which prompts are kept for the next ones the engine decides by itself."""
HINTS: Final[Mapping[str, frozenset[str]]] = {MESSAGES: _HINTS, COUNT_TOKENS: _HINTS, EMBED: frozenset()}

_CLEARS_NOTHING: Final = tuple({"type": "clear_thinking_20251015", "keep": kept} for kept in ("all", {"type": "all"}))
"""As nothing is cleared here; the chat template has its own way with reasoning. Without `keep`, older turns would lose
theirs."""
_ONLY: Final[Mapping[str, tuple[Any, ...]]] = {
    "service_tier": ("auto", "standard_only"),
    "speed": ("standard",),
    "mcp_servers": ([],),
    "context_management": ({}, {"edits": []}, *({"edits": [edit]} for edit in _CLEARS_NOTHING)),
    "container": (),
    "inference_geo": (),
    "diagnostics": ({},),
    "compaction": (),
    "fallbacks": ([],),
    "fallback_credit_token": (),
    "billing_policy": (),
    "thread": (),
    "return_mm_kwargs": (),
    "mm_payload": ("tensors",),
}
ONLY: Final[Mapping[str, Mapping[str, tuple[Any, ...]]]] = {MESSAGES: _ONLY, COUNT_TOKENS: _ONLY, EMBED: {}}

_FORMAT: Final = '"output_config": {"format": {"type": "json_schema", "schema": …}}'
_INSTEAD: Final = {
    "output_format": _FORMAT,
    "response_format": _FORMAT,
    "guided_json": _FORMAT,
    "reasoning_effort": '"output_config": {"effort": …}',
}
INSTEAD: Final[Mapping[str, Mapping[str, str]]] = {
    MESSAGES: {
        **_INSTEAD,
        "stop": '"stop_sequences"',
        "max_completion_tokens": '"max_tokens"',
        "max_tokens_to_sample": '"max_tokens"',
    },
    COUNT_TOKENS: _INSTEAD,
    EMBED: {
        "input": '"texts"',
        "dimensions": '"output_dimension"',
        "encoding_format": '"embedding_types"',
    },
}
