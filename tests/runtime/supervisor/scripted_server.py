"""The real server with a FAKE engine, for the supervisor to start: everything but the engine is as in a pod.

SCRIPTED_LOAD_SECONDS is how long the engine takes to load. Like the engine's own, its two processes do not hear SIGTERM
while they start, and one of them lives in a session of its own.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from arriero_runtime import cli
from arriero_runtime.channel import Channel
from arriero_runtime.model import Model
from arriero_runtime.server.serving import Serving
from tests.runtime.server.scripted import ScriptedEngine, ScriptedLoader
from tests.runtime.supervisor.fake_server import SLEEPER


class SlowLoader(ScriptedLoader):
    """FAKE: takes its time, with processes that must not be left behind."""

    async def load(self, folder: Path, names: Sequence[str], model: Model) -> ScriptedEngine:
        for alone in (False, True):
            subprocess.Popen(SLEEPER, start_new_session=alone)  # noqa: ASYNC220 as quick as the engine's own
        await asyncio.sleep(float(os.environ["SCRIPTED_LOAD_SECONDS"]))
        return await super().load(folder, names, model)


async def main() -> int:
    """Serve until the end; the exit code."""
    channel = Channel.from_environment()
    return await Serving(cli.parse(sys.argv[1:]), SlowLoader(ScriptedEngine()), channel).run()


if __name__ == "__main__":
    CODE = asyncio.run(main())
    os._exit(CODE)
