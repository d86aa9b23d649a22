"""Runtimes that serve, gone after the test."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.engine_failures.rig import Start
from tests.support.real_runtime import START_SECONDS, RealRuntime


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts runtimes until they are ready."""
    started: list[RealRuntime] = []

    def ready(model: Path, *engine: str, env: Mapping[str, str] | None = None) -> RealRuntime:
        started.append(RealRuntime(tmp_path, model, engine=engine, env=env))
        started[-1].until_ready(START_SECONDS)
        return started[-1]

    yield ready
    for runtime in started:
        runtime.clean()
