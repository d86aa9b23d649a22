"""Steps of the engine, counted where it tells of them: also those that bring no token, as in a long prompt.

vLLM's own counter of iterations leaves these out, so that an engine at work on a long prompt would look hung.
"""

from typing import Any


class StepCount:
    """The total since the engine's start."""

    def __init__(self) -> None:
        self.total = 0

    def logger_class(self) -> type[Any]:
        """A stat logger for the engine that counts here. Imports vLLM."""
        from vllm.v1.metrics.loggers import StatLoggerBase

        count = self

        class StepLogger(StatLoggerBase):  # type: ignore[misc]  # the base is unknown where types are checked
            def __init__(self, vllm_config: Any, engine_index: int = 0) -> None:
                """One for each engine; all count together."""

            def record(self, scheduler_stats: Any, iteration_stats: Any, *args: Any, **kwargs: Any) -> None:
                if scheduler_stats is not None or iteration_stats is not None:
                    count.total += 1

            def record_admission_rejection(self, reason: str) -> None:
                """Not counted."""

            def log_engine_initialized(self) -> None:
                """Nothing to say."""

        return StepLogger
