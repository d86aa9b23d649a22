"""The engine's end."""

import argparse
import asyncio
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from arriero_runtime.engine.vllm import processes
from arriero_runtime.engine.vllm.engine import VllmEngine
from arriero_runtime.engine.vllm.steps import StepCount


async def test_an_engine_is_stopped_while_all_threads_that_are_shared_are_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shut_down: list[float] = []
    ended: list[float] = []
    monkeypatch.setattr(processes, "members", list)
    monkeypatch.setattr(processes, "end", lambda seconds, shared: ended.append(seconds))
    client = SimpleNamespace(output_handler=None, shutdown=shut_down.append)
    app = SimpleNamespace(state=SimpleNamespace(openai_serving_models=None))
    engine = VllmEngine(client, app, argparse.Namespace(), (), contextlib.AsyncExitStack(), StepCount(), frozenset())
    shared, held = ThreadPoolExecutor(1), threading.Event()
    asyncio.get_running_loop().set_default_executor(shared)
    shared.submit(held.wait, 30)
    try:
        await asyncio.wait_for(engine.stop(3.0), 10)
    finally:
        held.set()
    assert (shut_down, ended) == ([3.0], [3.0])
