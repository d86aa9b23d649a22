"""The real runtime with the real engine on the CPU, outside of pods: its locked packages under the checkout's code."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from arriero_api.contract import NameKind, Registration, Registrations
from tests.cluster.images import environment
from tests.cluster.images.paths import CHECKOUT
from tests.support.runtime_process import BLOCKED, RuntimeProcess, free_port

NAME = "m"
"""Under which the model is served."""
START_SECONDS = 400.0
"""Longest that a start may take on a busy machine."""
_QUIET = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}


def python_path() -> list[Path]:
    """What the runtime is imported from."""
    return [environment.runtime(), CHECKOUT / "crds", CHECKOUT / "runtime"]


def clean_environment() -> dict[str, str]:
    """The environment of a pod: nothing of the test's own, the folders of the packages, a small cache."""
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "TMPDIR", "LANG")}
    return kept | _QUIET | {"PYTHONPATH": os.pathsep.join(str(folder) for folder in python_path())}


class RealRuntime(RuntimeProcess):
    """`python3 -m arriero_runtime serve` for `model` (a folder or a URI). `wrapper` is put before the command, `own`
    are arguments of the runtime, `engine` those of vLLM. `inside` is `folder` as the process finds it, where its mounts
    are its own. `compiled`: the model is compiled, which takes long."""

    def __init__(
        self,
        folder: Path,
        model: Path | str,
        *,
        engine: Sequence[str] = (),
        own: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        wrapper: Sequence[str] = (),
        stdout: int | None = None,
        inside: Path | None = None,
        compiled: bool = False,
    ) -> None:
        super().__init__(folder, free_port())
        self.serve_port = free_port()
        registrations = folder / "registrations.json"
        registrations.write_text(Registrations((Registration(NAME, NameKind.MODEL),)).to_json())
        uri = f"file://{model}" if isinstance(model, Path) else model
        there = inside or folder
        command = [
            *(*wrapper, *BLOCKED, str(environment.PYTHON), "-m", "arriero_runtime", "serve", f"--model={uri}"),
            *(
                f"--registrations={there / registrations.name}",
                f"--cache-dir={there}",
                f"--state-dir={there / 'state'}",
            ),
            *(
                f"--termination-log={there / self.termination_log.name}",
                "--host=127.0.0.1",
                f"--port={self.serve_port}",
            ),
            *(f"--control-port={self.port}", "--endpoint-delay-seconds=1", *own),
            *(
                "--",
                *(() if compiled else ("--enforce-eager",)),
                *(engine if _has_length(engine) else ("--max-model-len=1024", *engine)),
            ),
        ]
        self.run(command, clean_environment() | dict(env or {}), stdout)

    @property
    def url(self) -> str:
        """Of the model's API."""
        return f"http://127.0.0.1:{self.serve_port}"

    def titled(self, title: str) -> int:
        """The process id of the engine's process that calls itself so."""
        (found,) = [pid for pid in self.below() if _title(pid).startswith(title)]
        return found

    def server(self) -> int:
        """The process id of the supervisor's child."""
        (found,) = [pid for pid in self.below() if "arriero_runtime.server" in _title(pid)]
        return found


def _has_length(engine: Sequence[str]) -> bool:
    return any(argument.startswith("--max-model-len") for argument in engine)


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""
