"""Steps of the engine, counted where it tells of them: also those that bring no token, as in a long prompt.

vLLM's own counter of iterations leaves these out, so that an engine at work on a long prompt would look hung.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any


class StepCount:
    """By engine: with data parallelism there are several, by their ranks, else there is engine 0."""

    def __init__(self) -> None:
        self._made: Counter[int] = Counter()
        self._told_of: Counter[int] = Counter()

    def record(self, engine: int) -> None:
        """An engine has made a step."""
        self._made[engine] += 1

    def told(self, held: Mapping[int, int]) -> int:
        """The total, which rises only when each engine that holds requests has made a step since it last rose: one that
        hangs is not hidden by the others. `held`: how many requests each holds now."""
        if all(self._made[engine] > self._told_of[engine] for engine, requests in held.items() if requests):
            self._told_of = self._made.copy()
        return self._told_of.total()

    def logger_class(self) -> type[Any]:
        """A stat logger for the engine that counts here. Imports vLLM."""
        from vllm.v1.metrics.loggers import StatLoggerBase

        count = self

        class StepLogger(StatLoggerBase):  # type: ignore[misc]  # the base is unknown where types are checked
            def __init__(self, vllm_config: Any, engine_index: int = 0) -> None:
                """One for each engine."""
                self._engine = engine_index

            def record(self, scheduler_stats: Any, iteration_stats: Any, *args: Any, **kwargs: Any) -> None:
                if scheduler_stats is not None or iteration_stats is not None:
                    count.record(self._engine)

            def record_admission_rejection(self, reason: str) -> None:
                """Not counted."""

            def log_engine_initialized(self) -> None:
                """Nothing to say."""

        return StepLogger


def held(client: Any) -> dict[int, int]:
    """How many requests each engine holds. `client` is AsyncLLM, whose client of several engines counts them by engine:
    also those that were given up here, until their engine says that they have ended."""
    core = client.engine_core
    by_engine = getattr(core, "engine_inflight", None)
    if by_engine is None:
        return {0: int(client.output_processor.get_num_unfinished_requests())}
    return {rank: int(by_engine[engine]) for rank, engine in enumerate(core.core_engines)}
