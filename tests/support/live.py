"""A whole runtime with the real engine, as processes of this machine: no pod. Only for tests marked full."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.cluster.images import environment
from tests.cluster.images.paths import CHECKOUT
from tests.support.eventually import eventually

START_SECONDS = 400
"""Until a small model is ready, on a busy machine."""
_STOP_SECONDS = 60


@dataclass(frozen=True)
class Live:
    """A runtime that is ready. `url` is that of port 8080, `control` that of 8081, both without a path."""

    url: str
    control: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def client(self, timeout: float = 120) -> httpx.Client:
        """For port 8080. The caller closes it."""
        return httpx.Client(base_url=self.url, timeout=timeout)

    def gauge(self, name: str) -> float:
        """The sum of one of the engine's series over its labels. Fails where there is none."""
        lines = httpx.get(f"{self.url}/metrics", timeout=30).text.splitlines()
        found = [float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith((f"{name}{{", f"{name} "))]
        assert found, name
        return sum(found)

    def engine_processes(self) -> frozenset[int]:
        """The ids of the engine's processes."""
        found = set()
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and _is_below(int(folder.name), self.process.pid):
                try:
                    title = (folder / "cmdline").read_bytes()
                except OSError:
                    continue
                if title.startswith(b"VLLM::"):
                    found.add(int(folder.name))
        return frozenset(found)


def _is_below(pid: int, ancestor: int) -> bool:
    while pid > 1:
        if pid == ancestor:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            return False
    return False


@contextmanager
def live(
    model: Path | str,
    folder: Path,
    engine_args: Sequence[str] = (),
    options: Sequence[str] = (),
    extra: Mapping[str, str] | None = None,
    packages: Sequence[Path] = (),
) -> Iterator[Live]:
    """Serves `model`, a folder or a URI, as "one" with the alias "chat". `options` are the runtime's own, `extra` its
    environment's, `packages` folders with what the engine imports beside the locked ones.

    `folder` takes its caches and its log.
    """
    port, control = _free_ports(2)
    uri = model if isinstance(model, str) else f"file://{model}"
    names = [{"name": "one", "kind": "Model"}, {"name": "chat", "kind": "Alias"}]
    registrations = folder / "registrations.json"
    registrations.write_text(json.dumps({"schemaVersion": 1, "names": names, "commit": ""}))
    command = [
        *(str(environment.PYTHON), "-m", "arriero_runtime", "serve", f"--model={uri}"),
        *("--registrations", str(registrations), "--cache-dir", str(folder / "cache")),
        *("--state-dir", str(folder / "state"), "--termination-log", str(folder / "termination.json")),
        *("--host", "127.0.0.1", "--port", str(port), "--control-port", str(control)),
        *("--endpoint-delay-seconds", "0", *options, "--", "--enforce-eager", *engine_args),
    ]
    for name in ("cache", "state"):
        (folder / name).mkdir()
    found_by = environment.python_with(environment.runtime(), *packages, CHECKOUT / "crds", CHECKOUT / "runtime")
    variables = {**found_by, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", **(extra or {})}
    log = folder / "log"
    with ExitStack() as stack:
        output = stack.enter_context(log.open("wb"))
        # The names of the machine's proxies are nothing that a pod would have.
        proxies = {name for name in os.environ if name.lower().endswith("_proxy")}
        variables = {name: value for name, value in variables.items() if name not in proxies}
        process = subprocess.Popen(command, env=variables, stdout=output, stderr=subprocess.STDOUT, cwd=folder)
        stack.callback(_stop, process)
        found = Live(f"http://127.0.0.1:{port}", f"http://127.0.0.1:{control}", process, log)
        eventually(lambda: _is_ready(found), START_SECONDS)
        yield found


def _is_ready(found: Live) -> bool:
    if found.process.poll() is not None:
        raise RuntimeError(f"the runtime has ended:\n{found.log.read_text(errors='replace')[-3000:]}")
    try:
        return httpx.get(f"{found.control}/readyz", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def _stop(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(_STOP_SECONDS)
        raise


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [listener.getsockname()[1] for listener in sockets]
