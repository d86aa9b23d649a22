"""The real server with a FAKE engine: its process writes the file "log.txt" of the model's folder, and fails."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from arriero_api.contract import Phase
from arriero_runtime import cli
from arriero_runtime.channel import Channel
from arriero_runtime.failing import start_error
from arriero_runtime.model import Model
from arriero_runtime.server import log
from arriero_runtime.server.serving import Serving
from tests.runtime.server.scripted import ScriptedEngine, ScriptedLoader


class FailingLoader(ScriptedLoader):
    """FAKE: knows nothing of the cause, as vLLM's client does not."""

    async def load(self, folder: Path, names: Sequence[str], model: Model) -> ScriptedEngine:
        process = await asyncio.create_subprocess_exec("cat", str(folder / "log.txt"))
        await process.wait()
        raise start_error("EngineFailed", "RuntimeError: Engine core initialization failed.", Phase.LOADING)


async def main() -> int:
    """Serve until the end; the exit code."""
    log.begin()
    channel = Channel.from_environment()
    return await Serving(cli.parse(sys.argv[1:]), FailingLoader(ScriptedEngine()), channel).run()


if __name__ == "__main__":
    CODE = asyncio.run(main())
    os._exit(CODE)
