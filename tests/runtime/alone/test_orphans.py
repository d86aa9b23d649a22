"""The real engine with two workers: a load that fails leaves none of them, also those that nobody is the parent of."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.models import tiny
from tests.runtime.alone.real import AloneRuntime, alone_runtime, engine_pids
from tests.support.runtime_process import until

pytestmark = pytest.mark.full


def workers(runtime: AloneRuntime) -> list[int]:
    return engine_pids(runtime, "VLLM::Worker")


def test_workers_whose_engine_core_dies_while_they_load_are_ended_with_the_load(tmp_path: Path) -> None:
    flags, threads = ["--tensor-parallel-size=2"], {"VLLM_CPU_OMP_THREADS_BIND": "nobind"}
    with alone_runtime(tmp_path, flags, threads) as runtime, ThreadPoolExecutor(1) as client:
        registering = client.submit(runtime.register, "mine", tiny())
        until(lambda: len(workers(runtime)) == 2, "two workers load", 200)
        orphans = workers(runtime)
        for pid in orphans:
            os.kill(pid, signal.SIGSTOP)  # they could end by themselves, in their own time
        (core,) = engine_pids(runtime, "VLLM::EngineCore")
        os.kill(core, signal.SIGKILL)
        answer = registering.result(120)
        assert (answer.status_code, answer.json()["error"]["type"]) == (503, "EngineFailed"), answer.text
        assert not [pid for pid in [core, *orphans] if Path(f"/proc/{pid}").exists()]
        assert (runtime.names(), engine_pids(runtime)) == ([], [])
