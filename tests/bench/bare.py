"""The engine's own server, which the runtime is measured against: the same packages, environment and flags."""

import os
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from arriero_runtime.supervisor.tree import descendants
from tests.cluster.images import environment
from tests.support.real_runtime import NAME, START_SECONDS, clean_environment
from tests.support.runtime_process import free_port, until

_STOP_SECONDS: Final = 60
_AS_THE_RUNTIME: Final = {"VLLM_WORKER_MULTIPROC_METHOD": "spawn", "TORCH_COMPILE_DISABLE": "1"}
"""What the runtime sets for its engine on a CPU without compilation; the engine's work is to be the same."""


class Process:
    """A server in Python that answers /health; `folder` takes its log."""

    def __init__(self, folder: Path, port: int, command: Sequence[str], variables: Mapping[str, str]) -> None:
        self.port = port
        self.log = folder / "server.log"
        with self.log.open("wb") as log:
            # A session of its own, as the runtime gives its server: the kernel shares out the processors by session.
            self.process = subprocess.Popen(
                [str(environment.PYTHON), *command],
                env=dict(variables),
                stdout=log,
                stderr=log,
                cwd=folder,
                start_new_session=True,
            )

    def until_ready(self, seconds: float = START_SECONDS) -> None:
        """Wait for /health; an end meanwhile fails at once."""
        until(self._healthy, "the engine's own server answers", seconds)

    def _healthy(self) -> bool:
        assert self.process.poll() is None, self.log.read_text(errors="replace")[-3000:]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def clean(self) -> None:
        """End it and all that it started."""
        below = descendants(self.process.pid)
        self.process.terminate()
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for pid in below:
            if _is_alive(pid):
                os.kill(pid, signal.SIGKILL)


class Bare(Process):
    """`python -m vllm.entrypoints.openai.api_server` for a model's folder. `folder` takes its log and its home,
    `cache` what the engine keeps, `env` is further environment. It writes no line for each request, as the runtime
    does not either."""

    def __init__(
        self,
        folder: Path,
        model: Path,
        *,
        engine: Sequence[str] = (),
        cache: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        port = free_port()
        command = [
            *("-m", "vllm.entrypoints.openai.api_server", "--model", str(model)),
            *("--served-model-name", NAME, "--host", "127.0.0.1", "--port", str(port)),
            *("--disable-uvicorn-access-log", "--enforce-eager", *engine),
        ]
        kept = {"HOME": str(folder), "VLLM_CACHE_ROOT": str(cache or folder / "vllm")}
        super().__init__(folder, port, command, clean_environment() | _AS_THE_RUNTIME | kept | dict(env or {}))


def _is_alive(pid: int) -> bool:
    try:
        return b"vllm" in Path(f"/proc/{pid}/cmdline").read_bytes().lower()
    except OSError:
        return False
