"""The question that is asked before readiness: a checkpoint that lacks weights starts well and answers nothing."""

import math
from collections.abc import Sequence
from typing import Any, Final

from arriero_runtime.engine.protocol import FirstAnswer

_TEXT: Final = "The capital of France is"
_TOKENS: Final = 4
_PREFERRED: Final = ("embed", "classify", "score", "reward")


def _prompt(client: Any) -> dict[str, list[int]]:
    room = max(1, client.model_config.max_model_len - _TOKENS)
    return {"prompt_token_ids": list(client.get_tokenizer().encode(_TEXT))[:room]}


async def generate(client: Any) -> FirstAnswer:
    """A few tokens with their log probabilities, whatever the model would like to stop at."""
    from vllm.sampling_params import RequestOutputKind, SamplingParams

    params = SamplingParams(
        temperature=0.0,
        max_tokens=_TOKENS,
        min_tokens=1,
        ignore_eos=True,
        logprobs=1,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )
    values: list[float] = []
    async for output in client.generate(_prompt(client), params, "arriero-first-answer"):
        for answer in output.outputs:
            chosen = zip(answer.token_ids, answer.logprobs or [], strict=False)
            values = [float(ranked[token].logprob) for token, ranked in chosen]
    return FirstAnswer(tuple(values), -math.log(client.model_config.get_vocab_size()))


async def encode(client: Any, tasks: Sequence[str]) -> FirstAnswer:
    """The numbers of one pooled answer."""
    from vllm.pooling_params import PoolingParams

    task = next((task for task in (*_PREFERRED, *tasks) if task in tasks), None)
    values: list[float] = []
    async for output in client.encode(_prompt(client), PoolingParams(task=task), "arriero-first-answer"):
        values = [float(value) for value in output.outputs.data.flatten().tolist()]
    return FirstAnswer(tuple(values))
