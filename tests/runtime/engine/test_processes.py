"""The engine's processes: those whose parent has died are ended like the others."""

import subprocess
import sys

PROGRAM = """
import multiprocessing, os, signal
from multiprocessing import resource_tracker, shared_memory
from pathlib import Path
from arriero_runtime.engine.vllm import processes

def core(writer):
    segment, lock = shared_memory.SharedMemory(create=True, size=1 << 20), fork.Lock()
    worker = os.fork()
    if worker:
        writer.send((worker, segment.name))
    else:
        signal.alarm(60)
    signal.pause()

processes.adopt()
resource_tracker.ensure_running()
fork = multiprocessing.get_context("fork")
reader, writer = fork.Pipe()
engine = fork.Process(target=core, args=(writer,))
engine.start()
worker, name = reader.recv()
own = shared_memory.SharedMemory(create=True, size=1 << 20)
engine.kill()
engine.join()
print(processes.end(10), Path(f"/proc/{worker}").exists(), engine.exitcode)
print(Path("/dev/shm", name).exists(), Path("/dev/shm", own.name).exists())
own.unlink()
"""


def test_a_worker_whose_engine_core_has_died_is_ended_with_what_they_shared() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("[] False -9\nFalse True\n", "")


THREAD = """
import ctypes, os, threading, time
from pathlib import Path
from arriero_runtime.engine.vllm import processes

SYS_EXIT = 60 if os.uname().machine == "x86_64" else 93

def last(until):
    os.read(until, 1)
    os._exit(0)

reader, writer = os.pipe()
worker = os.fork()
if not worker:
    threading.Thread(target=last, args=(reader,)).start()
    ctypes.CDLL(None).syscall(SYS_EXIT, 0)  # ends this thread alone
while Path(f"/proc/{worker}/stat").read_text().split()[2] != "Z":
    time.sleep(0.01)
threading.Timer(0.3, os.write, (writer, b"x")).start()
print(processes.end(10), Path(f"/proc/{worker}").exists())
"""


def test_an_engine_has_ended_when_the_last_thread_of_its_processes_has() -> None:
    done = subprocess.run([sys.executable, "-c", THREAD], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("[] False\n", "")
