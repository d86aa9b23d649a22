"""Both servers with an engine that costs nothing: one process each, which is all front end."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from arriero_api.contract import NameKind, Registration, Registrations
from tests.bench.bare import Process
from tests.cluster.images.paths import CHECKOUT
from tests.support.real_runtime import NAME, clean_environment
from tests.support.runtime_process import free_port

_PROGRAM: Final = ("-m", "tests.bench.serving.free_engine")


def bare(folder: Path, model: Path, engine: Sequence[str]) -> Process:
    """vLLM's server."""
    port = free_port()
    flags = ("--model", str(model), "--served-model-name", NAME, "--host", "127.0.0.1", "--port", str(port))
    command = (*_PROGRAM, "bare", *flags, "--disable-uvicorn-access-log", "--enforce-eager", *engine)
    return Process(folder, port, command, _environment() | {"HOME": str(folder)})


def ours(folder: Path, model: Path, engine: Sequence[str]) -> Process:
    """The runtime's server, without its supervisor."""
    port = free_port()
    names = folder / "registrations.json"
    names.write_text(Registrations((Registration(NAME, NameKind.MODEL),)).to_json())
    own = (f"--model=file://{model}", f"--registrations={names}", f"--cache-dir={folder}", f"--state-dir={folder}")
    where = ("--host=127.0.0.1", f"--port={port}", f"--control-port={free_port()}", "--endpoint-delay-seconds=0")
    command = (*_PROGRAM, "ours", "serve", *own, *where, "--", "--enforce-eager", *engine)
    return Process(folder, port, command, _environment())


def _environment() -> dict[str, str]:
    found = clean_environment()
    return found | {"PYTHONPATH": os.pathsep.join((found["PYTHONPATH"], str(CHECKOUT)))}
