"""The Llama Stack routes against the OpenAI ones of the same server: `python -m tests.bench.native_ratio [PAIRS]`.

Real engine, a random model so small that serving costs more than it. Pairs of rounds, which of the two comes first
changing with each; CPU-seconds of the server's process first, as they depend least on what else the machine does.
"""

import asyncio
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests import models
from tests.bench.load import Round, child, load
from tests.bench.ratios import Ratio, ratio
from tests.support.live import Live, live

GOAL: Final = 0.95
TOKENS: Final = 48
REQUESTS: Final = {1: 8, 32: 64, 256: 256}
"""Streams at once → requests of a round."""
_QUESTION: Final = [{"role": "user", "content": "Tell me about llamas."}]
OPENAI: Final[dict[str, Mapping[str, Any]]] = {
    "/v1/chat/completions": {
        "model": "one",
        "messages": _QUESTION,
        "max_tokens": TOKENS,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    },
    "/v1/completions": {
        "model": "one",
        "prompt": "Llamas are",
        "max_tokens": TOKENS,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    },
}
NATIVE: Final[dict[str, Mapping[str, Any]]] = {
    "/v1/inference/chat-completion": {
        "model_id": "one",
        "messages": _QUESTION,
        "sampling_params": {"max_tokens": TOKENS},
        "stream": True,
    },
    "/v1/inference/completion": {
        "model_id": "one",
        "content": "Llamas are",
        "sampling_params": {"max_tokens": TOKENS},
        "stream": True,
    },
}


async def measured(server: Live, streams: int, pairs: int, which: int) -> tuple[Ratio, Ratio]:
    """CPU-seconds of the OpenAI route per those of the native one, and throughput of the native one per the other's."""
    port, pid = int(server.url.rsplit(":", 1)[1]), child(server.process.pid)
    sides = [list(OPENAI.items())[which], list(NATIVE.items())[which]]

    async def one(side: int) -> Round:
        path, body = sides[side]
        return await load(port, path, body, requests=REQUESTS[streams], streams=streams, pid=pid)

    await one(0)
    await one(1)
    found: list[tuple[Round, Round]] = []
    for number in range(pairs):
        first = number % 2
        rounds = {first: await one(first), 1 - first: await one(1 - first)}
        found.append((rounds[0], rounds[1]))
    cpu = ratio([(native.cpu, openai.cpu) for openai, native in found])
    speed = ratio([(openai.seconds, native.seconds) for openai, native in found])
    return cpu, Ratio(1 / speed.median, 1 / speed.high, 1 / speed.low)


def main(pairs: int = 12) -> None:
    """Prints a table; a ratio of 1 is as fast as the OpenAI route, less is slower."""
    with tempfile.TemporaryDirectory() as folder:
        args = ["--max-model-len=256", "--max-num-seqs=256", "--no-enable-prefix-caching"]
        with live(models.tiny(), Path(folder), args) as server:
            print("| route | streams | CPU | 95 % | goal | throughput | 95 % | goal |")
            print("|---|---|---|---|---|---|---|---|")
            for which, path in enumerate(NATIVE):
                for streams in REQUESTS:
                    cells = [path.rsplit("/", 1)[1], str(streams)]
                    for found in asyncio.run(measured(server, streams, pairs, which)):
                        interval = f"{found.low:.3f} to {found.high:.3f}"
                        cells += [f"{found.median:.3f}", interval, found.judged(GOAL)]
                    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
