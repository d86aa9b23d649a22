"""How to sample, what form to keep to, which log probabilities to give: one mapping for all routes.

Every value is sent, so that the model's own generation_config.json changes nothing.
"""

from typing import Any, Final

from arriero_runtime.native import wire
from arriero_runtime.native.errors import invalid

_OFF: Final = {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0}


def chosen(params: wire.SamplingParams | None) -> dict[str, Any]:
    """The members of a request to the engine. No limit on tokens means as many as the context has room for."""
    params = params or wire.SamplingParams()
    strategy = params.strategy
    found: dict[str, Any] = dict(_OFF)
    if isinstance(strategy, wire.Greedy):
        found["temperature"] = 0.0
    elif isinstance(strategy, wire.TopP):
        found["temperature"] = 1.0 if strategy.temperature is None else strategy.temperature
        found["top_p"] = 1.0 if strategy.top_p is None else strategy.top_p
    else:
        found["top_k"] = strategy.top_k
    found["repetition_penalty"] = 1.0 if params.repetition_penalty is None else params.repetition_penalty
    found["max_tokens"] = params.max_tokens or None
    if params.stop:
        found["stop"] = params.stop
    return found


def form(wanted: wire.JsonSchema | wire.Grammar | None) -> dict[str, Any]:
    """The form of the answer. A grammar is EBNF text, as such or as {"ebnf": text}. Raises Refused."""
    if wanted is None:
        return {}
    if isinstance(wanted, wire.JsonSchema):
        return {"structured_outputs": {"json": wanted.json_schema}}
    grammar = wanted.bnf.get("ebnf") if isinstance(wanted.bnf, dict) else wanted.bnf
    if not isinstance(grammar, str) or not grammar or (isinstance(wanted.bnf, dict) and len(wanted.bnf) > 1):
        raise invalid("response_format.bnf", 'must be the text of a grammar in EBNF, or {"ebnf": that text}')
    return {"structured_outputs": {"grammar": grammar}}


def completion_logprobs(wanted: wire.LogProbs | None) -> dict[str, Any]:
    """For completions."""
    return {} if wanted is None else {"logprobs": wanted.top_k or 0}


def chat_logprobs(wanted: wire.LogProbs | None) -> dict[str, Any]:
    """For chats."""
    return {} if wanted is None else {"logprobs": True, "top_logprobs": wanted.top_k or 0}
