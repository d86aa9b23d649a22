"""Log probabilities and token counts, from the OpenAI API's form to Llama Stack's.

Each token has its k likeliest alternatives and itself, so k or k + 1 entries. Where two tokens have the same text, the
likelier counts.
"""

from collections.abc import Iterable, Mapping
from typing import Any

LogProbs = list[dict[str, dict[str, float]]]


def _token(pairs: Iterable[tuple[str, float | None]]) -> dict[str, dict[str, float]]:
    found: dict[str, float] = {}
    for text, value in pairs:
        if value is not None:
            found[text] = max(value, found.get(text, value))
    return {"logprobs_by_token": found}


def of_chat(logprobs: Mapping[str, Any] | None) -> LogProbs:
    """Of one choice of a chat, whole or a piece of a stream."""
    tokens = (logprobs or {}).get("content") or []
    return [
        _token((one["token"], one["logprob"]) for one in (*(token.get("top_logprobs") or []), token))
        for token in tokens
    ]


def of_completion(logprobs: Mapping[str, Any] | None) -> LogProbs:
    """Of one choice of a completion, whole or a piece of a stream."""
    found = logprobs or {}
    chosen = list(zip(found.get("tokens") or [], found.get("token_logprobs") or [], strict=False))
    ranked = found.get("top_logprobs") or []
    return [_token((*((ranked[i] or {}).items() if i < len(ranked) else ()), own)) for i, own in enumerate(chosen)]


def metrics(usage: Mapping[str, Any] | None) -> list[dict[str, Any]] | None:
    """The engine's own count of tokens."""
    if not usage:
        return None
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    return [{"metric": name, "value": usage.get(name) or 0, "unit": None} for name in names]
