"""The engine's processes: those whose parent has died are ended like the others."""

import subprocess
import sys

PROGRAM = """
import multiprocessing, os, signal
from pathlib import Path
from arriero_runtime.engine.vllm import processes

def core(writer):
    worker = os.fork()
    if worker:
        writer.send(worker)
    else:
        signal.alarm(60)
    signal.pause()

processes.adopt()
fork = multiprocessing.get_context("fork")
reader, writer = fork.Pipe()
engine = fork.Process(target=core, args=(writer,))
engine.start()
worker = reader.recv()
engine.kill()
engine.join()
print(processes.end(10), Path(f"/proc/{worker}").exists(), engine.exitcode)
"""


def test_a_worker_whose_engine_core_has_died_is_found_ended_and_waited_for() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("[] False -9\n", "")
