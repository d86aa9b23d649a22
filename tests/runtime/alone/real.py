"""The real engine behind a runtime that starts without a model."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx

from tests.cluster.images import environment
from tests.support.real_runtime import clean_environment
from tests.support.runtime_process import RuntimeProcess, free_port, until

SECONDS = 400.0


class AloneRuntime(RuntimeProcess):
    """`python3 -m arriero_runtime serve --allow-registration`, as processes of this machine; `flags` are vLLM's."""

    def __init__(self, folder: Path, flags: Sequence[str], variables: Mapping[str, str]) -> None:
        super().__init__(folder, free_port())
        self.serve_port = free_port()
        command = [
            *(str(environment.PYTHON), "-m", "arriero_runtime", "serve", "--allow-registration"),
            *(f"--cache-dir={folder}", f"--state-dir={self.state}", f"--termination-log={self.termination_log}"),
            *("--host=127.0.0.1", f"--port={self.serve_port}", f"--control-port={self.port}"),
            *("--endpoint-delay-seconds=0", "--", "--enforce-eager", "--max-model-len=512", *flags),
        ]
        self.run(command, clean_environment() | dict(variables))
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.serve_port}", timeout=SECONDS)

    def listens(self) -> bool:
        try:
            return self.client.get("/v1/version").status_code == 200
        except httpx.TransportError:
            return False

    def register(self, name: str, model: Path, **more: Any) -> httpx.Response:
        return self.client.post("/v1/models", json={"model_id": name, "provider_model_id": str(model), **more})

    def unregister(self, name: str) -> httpx.Response:
        return self.client.delete(f"/v1/models/{name}")

    def names(self) -> list[str]:
        return [model["identifier"] for model in self.client.get("/v1/models").json()["data"]]

    def chat(self, name: str) -> httpx.Response:
        body = {"model": name, "messages": [{"role": "user", "content": "Say hello"}], "max_tokens": 8}
        return self.client.post("/v1/chat/completions", json=body)

    def server(self) -> int:
        """The process id of the supervisor's child."""
        (found,) = [pid for pid in self.below() if "arriero_runtime.server" in _title(pid)]
        return found

    def resident(self) -> int:
        """Bytes of memory that the whole tree of processes holds, shared pages counted once; without those of files,
        which other processes of the machine have a part in."""
        return sum(proportional(pid) for pid in [self.process.pid, *self.below()])


def proportional(pid: int) -> int:
    """Bytes of one process, likewise."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:")))


@contextmanager
def alone_runtime(
    folder: Path, flags: Sequence[str] = (), variables: Mapping[str, str] = MappingProxyType({})
) -> Iterator[AloneRuntime]:
    """Listening; ended with everything below it."""
    runtime = AloneRuntime(folder, flags, variables)
    try:
        until(runtime.listens, "the port answers", 60)
        yield runtime
    finally:
        runtime.client.close()
        runtime.clean()


def engine_pids(runtime: AloneRuntime, title: str = "VLLM::") -> list[int]:
    """The engine's processes that there are, whose titles begin so."""
    return [pid for pid in runtime.below() if _title(pid).startswith(title)]


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""
