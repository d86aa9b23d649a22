"""The parameters that each route takes, and those that would be without effect; other APIs than OpenAI's: `dialects`.

A parameter that is not here is refused, as OpenAI's own API does it: a client that misspells one, or asks for what this
server does not do, is told. `tests/runtime/openai/vllm_lists.json` records the engine's own lists.
"""

from collections.abc import Mapping
from typing import Any, Final

from arriero_runtime.server import dialects
from arriero_runtime.server.routes import CHAT, COMPLETIONS, DETOKENIZE, EMBEDDINGS, RESPONSES, TOKENIZE


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MODEL: Final = frozenset({"model"})
_TRACE: Final = frozenset({"user", "request_id", "session_id"})
_SAMPLING: Final = _names(
    """frequency_penalty presence_penalty repetition_penalty logit_bias n seed stop stop_token_ids temperature top_p
    top_k min_p min_tokens
    max_tokens ignore_eos include_stop_str_in_output skip_special_tokens spaces_between_special_tokens
    truncate_prompt_tokens truncation_side allowed_token_ids prompt_logprobs logprob_token_ids bad_words
    repetition_detection thinking_token_budget use_beam_search length_penalty stream stream_options stream_interval
    logprobs echo add_special_tokens response_format structured_outputs cache_salt watermarking
    return_tokens_as_token_ids return_token_ids priority kv_transfer_params ec_transfer_params vllm_xargs"""
)
_TEMPLATE: Final = _names(
    """messages add_generation_prompt continue_final_message documents chat_template chat_template_kwargs
    media_io_kwargs mm_processor_kwargs tools"""
)
_POOLING: Final = _names(
    """input truncate_prompt_tokens truncation_side padding add_special_tokens encoding_format embed_dtype endianness
    dimensions use_activation priority mm_processor_kwargs media_io_kwargs cache_salt chat_template_kwargs task
    messages chat_template add_generation_prompt continue_final_message"""
)
_SCORING: Final = _names(
    """query documents queries items data_1 data_2 text_1 text_2 top_n instruction max_tokens_per_query
    max_tokens_per_doc"""
)
_RERANK: Final = ("/rerank", "/v1/rerank", "/v2/rerank")
_VECTORS: Final = _names("dimensions embed_dtype encoding_format endianness")
_POOLED: Final = _MODEL | _TRACE | _POOLING
_SCORED: Final = _POOLED - _VECTORS - {"input", "messages", "task"} | _SCORING

TAKEN: Final[Mapping[str, frozenset[str]]] = {
    CHAT: _MODEL
    | _TRACE
    | _SAMPLING
    | _TEMPLATE
    | _names(
        """top_logprobs max_completion_tokens tool_choice parallel_tool_calls reasoning_effort include_reasoning
        return_prompt_text"""
    ),
    COMPLETIONS: _MODEL | _TRACE | _SAMPLING | {"prompt", "suffix", "prompt_embeds"},
    RESPONSES: _MODEL
    | _TRACE
    | _names(
        """input instructions max_output_tokens logit_bias parallel_tool_calls reasoning
        include_reasoning include stream stream_options temperature text tool_choice tools top_logprobs top_p top_k
    min_p truncation skip_special_tokens include_stop_str_in_output presence_penalty frequency_penalty watermarking
        media_io_kwargs mm_processor_kwargs cache_salt structured_outputs repetition_penalty seed stop stop_token_ids
        ignore_eos chat_template_kwargs vllm_xargs kv_transfer_params ec_transfer_params priority"""
    ),
    EMBEDDINGS: _POOLED - {"task"},
    "/pooling": _POOLED | {"data"},
    "/classify": _POOLED - _VECTORS - {"task"},
    **dict.fromkeys(("/score", "/v1/score", *_RERANK), _SCORED),
    TOKENIZE: _MODEL | _TEMPLATE - {"documents"} | {"prompt", "add_special_tokens", "return_token_strs"},
    DETOKENIZE: _MODEL | {"tokens"},
    **dialects.TAKEN,
}
"""Path → parameters that have an effect, or that only name a request. Other paths are not looked at."""

HINTS: Final = _names(
    """metadata safety_identifier prompt_cache_key prompt_cache_retention prompt_cache_options prediction
    client_metadata"""
)
"""Of OpenAI's API: they ask for no other answer, so they are taken wherever they come."""

ONLY: Final[Mapping[str, tuple[Any, ...]]] = {
    "service_tier": ("auto", "default"),
    "store": (False,),
    "background": (False,),
    "background_options": (),
    "max_tool_calls": (),
    "context_management": ([],),
    "access_programs": (),
    "modalities": (["text"],),
    "moderation": (None,),
    "verbosity": ("medium",),
    "audio": (None,),
    "web_search_options": (None,),
    "previous_response_id": (None,),
    "conversation": (None,),
    "prompt": (None,),
    "best_of": (1,),
    "functions": ([],),
    "function_call": ("none",),
    "return_token_offsets": (False,),
    "return_mm_kwargs": (),
    "mm_payload": ("tensors",),
    "enable_response_messages": (False,),
    "previous_input_messages": (),
    "routed_experts_prompt_start": (0,),
    "early_stopping": (False,),
}
"""Parameters of OpenAI's or the engine's that this server does not do, with the values that ask for nothing."""
_RERANKED: Final = {**ONLY, "return_documents": (True,)}
"""Cohere's and Jina's clients ask for what is given anyway."""

UNLESS: Final[Mapping[str, tuple[tuple[Any, ...], str]]] = {
    "priority": ((0,), "--scheduling-policy=priority in spec.engine.args"),
    "kv_transfer_params": (({},), "--kv-transfer-config in spec.engine.args"),
    "ec_transfer_params": (({},), "--ec-transfer-config in spec.engine.args"),
    "vllm_xargs": (({},), "--logits-processors in spec.engine.args"),
    "watermarking": ((False,), "a watermark in spec.engine.args"),
}
"""Parameters that work only with an engine that was started for them: values that ask for nothing, what it needs."""

_GUIDED: Final = {
    "guided_json": '"structured_outputs": {"json": …} or "response_format"',
    "guided_regex": '"structured_outputs": {"regex": …}',
    "guided_choice": '"structured_outputs": {"choice": […]}',
    "guided_grammar": '"structured_outputs": {"grammar": …}',
    "guided_decoding_backend": "--structured-outputs-config in spec.engine.args",
    "guided_whitespace_pattern": '"structured_outputs": {"whitespace_pattern": …}',
    "best_of": '"n", and choose among the answers',
}
INSTEAD: Final[Mapping[str, Mapping[str, str]]] = {
    CHAT: {
        **_GUIDED,
        "functions": '"tools"',
        "function_call": '"tool_choice"',
        "max_new_tokens": '"max_completion_tokens"',
        "enable_thinking": '"chat_template_kwargs": {"enable_thinking": …}',
    },
    COMPLETIONS: {**_GUIDED, "max_new_tokens": '"max_tokens"'},
    RESPONSES: {
        **_GUIDED,
        "guided_json": '"text": {"format": {"type": "json_schema", …}}',
        "response_format": '"text": {"format": …}',
        "max_tokens": '"max_output_tokens"',
        "max_completion_tokens": '"max_output_tokens"',
    },
    **dialects.INSTEAD,
}
"""Path → parameter that clients of other servers or of older ones send → what to use in its place."""


def hints(path: str) -> frozenset[str]:
    """What a route takes without an effect, as its API asks for none."""
    return dialects.HINTS.get(path, HINTS)


def only(path: str) -> Mapping[str, tuple[Any, ...]]:
    """What a route takes only with values that ask for nothing."""
    return _RERANKED if path in _RERANK else dialects.ONLY.get(path, ONLY)
