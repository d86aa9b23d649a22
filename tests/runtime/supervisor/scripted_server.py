"""The real server with a FAKE engine, for the supervisor to start: everything but the engine is as in a pod.

In the phase that SCRIPTED_SLOW names, the engine takes SCRIPTED_SECONDS: over its arguments (Resolving), its load, or
its adapters (Warming). Like the engine's own, its two processes do not hear SIGTERM while they start, and one of them
lives in a session of its own.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from arriero_api.contract import Phase
from arriero_runtime import cli
from arriero_runtime.channel import Channel
from arriero_runtime.engine.protocol import LoraCapacity
from arriero_runtime.model import Model
from arriero_runtime.server.serving import Serving
from tests.runtime.server.scripted import ScriptedEngine, ScriptedLoader
from tests.runtime.supervisor.fake_server import SLEEPER


async def takes_its_time(phase: Phase) -> None:
    """Where this is the slow phase."""
    if os.environ.get("SCRIPTED_SLOW") == phase:
        await asyncio.sleep(float(os.environ["SCRIPTED_SECONDS"]))


class SlowEngine(ScriptedEngine):
    """FAKE: may take its time with adapters."""

    async def load_adapter(self, name: str, folder: Path) -> int | None:
        await takes_its_time(Phase.WARMING)
        return await super().load_adapter(name, folder)


class SlowLoader(ScriptedLoader):
    """FAKE: may take its time, with processes that must not be left behind."""

    async def check_arguments(self) -> None:
        await takes_its_time(Phase.RESOLVING)

    async def load(self, folder: Path, names: Sequence[str], model: Model) -> ScriptedEngine:
        for alone in (False, True):
            subprocess.Popen(SLEEPER, start_new_session=alone)  # noqa: ASYNC220 as quick as the engine's own
        await takes_its_time(Phase.LOADING)
        return await super().load(folder, names, model)


async def main() -> int:
    """Serve until the end; the exit code."""
    channel = Channel.from_environment()
    engine = SlowEngine()
    engine.lora = LoraCapacity(max_rank=8, max_loaded=3)
    return await Serving(cli.parse(sys.argv[1:]), SlowLoader(engine), channel).run()


if __name__ == "__main__":
    CODE = asyncio.run(main())
    os._exit(CODE)
