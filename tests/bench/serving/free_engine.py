"""FAKE, for benchmarks only: an engine that costs nothing, behind vLLM's own client for engines.

`python -m tests.bench.serving.free_engine bare FLAGS…` is vLLM's server, `… ours FLAGS…` is the runtime's, each with
this engine in its own process: all that is left is the front end. Run with the runtime's packages.
"""

import asyncio
import runpy
import sys
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Final

from arriero_runtime.engine.protocol import FirstAnswer

_TURNS: Final = 6
"""Turns of the event loop between two steps: enough for the last one's tokens to be on their way to the clients. With
fewer, several tokens would go into one event."""
_TOKENS: Final = range(1000, 2000)
"""Ids of ordinary pieces of words in most vocabularies."""


class FreeEngine:
    """In place of vLLM's client of an engine: gives each request a token in each step, as many as it asks for."""

    def __init__(self, **_: Any) -> None:
        self.resources = SimpleNamespace(engine_dead=False)
        self.engine_ranks_managed = [0]
        self._left: dict[str, int] = {}
        self._fresh: list[tuple[str, int]] = []
        self._work = asyncio.Event()

    async def get_supported_tasks_async(self) -> tuple[str, ...]:
        return ("generate",)

    async def reset_mm_cache_async(self) -> None:
        """There is none."""

    async def add_request_async(self, request: Any) -> None:
        self._left[request.request_id] = request.sampling_params.max_tokens
        self._fresh.append((request.request_id, len(request.prompt_token_ids)))
        self._work.set()

    async def abort_requests_async(self, ids: Sequence[str]) -> None:
        for each in ids:
            self._left.pop(each, None)

    async def get_output_async(self) -> Any:
        """The next step's tokens."""
        from vllm.v1.engine import EngineCoreOutputs
        from vllm.v1.metrics.stats import SchedulerStats

        for _ in range(_TURNS):
            await asyncio.sleep(0)
        while not self._left:
            self._work.clear()
            await self._work.wait()
        running = len(self._left)
        return EngineCoreOutputs(outputs=self._step(), scheduler_stats=SchedulerStats(num_running_reqs=running))

    def _step(self) -> list[Any]:
        from vllm.v1.engine import EngineCoreOutput, FinishReason
        from vllm.v1.metrics.stats import PrefillStats

        fresh = {name: PrefillStats(size, size) for name, size in self._fresh}
        self._fresh.clear()
        outputs = []
        for name, left in tuple(self._left.items()):
            last = FinishReason.LENGTH if left <= 1 else None
            token = _TOKENS[left % len(_TOKENS)]
            outputs.append(EngineCoreOutput(name, [token], finish_reason=last, prefill_stats=fresh.get(name)))
            if last is None:
                self._left[name] = left - 1
            else:
                del self._left[name]
        return outputs

    def shutdown(self, timeout: float | None = None) -> None:
        """Nothing runs."""

    def dp_engines_running(self) -> bool:
        return False

    def get_kv_event_sources(self) -> Mapping[int, Any]:
        return {}


def _ours() -> None:
    from arriero_runtime.engine.vllm.engine import VllmEngine
    from arriero_runtime.server.__main__ import main

    async def first_answer(self: VllmEngine) -> FirstAnswer:
        return FirstAnswer((-0.5, -1.0), blind=-10.8)

    VllmEngine.first_answer = first_answer  # type: ignore[method-assign]
    sys.exit(main())


def main() -> None:
    """As the command line says."""
    kind = sys.argv.pop(1)
    from vllm.v1.engine.core_client import EngineCoreClient

    EngineCoreClient.make_async_mp_client = staticmethod(FreeEngine)
    if kind == "ours":
        _ours()
    else:
        runpy.run_module("vllm.entrypoints.openai.api_server", run_name="__main__")


if __name__ == "__main__":
    main()
