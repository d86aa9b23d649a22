"""`python3 -m arriero_runtime.server`: the supervisor's child. Takes the supervisor's command line."""

import asyncio
import gc
import importlib
import logging
import os
import sys
from typing import Final

from arriero_api.contract import Failure
from arriero_runtime import cli, wording
from arriero_runtime.channel import Channel
from arriero_runtime.messages import Failed
from arriero_runtime.server import log

_FLUSH_SECONDS: Final = 2.0
_YOUNG_OBJECTS: Final = 10_000
"""From so many more on, the collector looks for garbage among them. Each request under way holds some 350 that are
none: with Python's own 700 it would look at those of all streams again and again."""


def main() -> int:
    """The exit code; what went wrong has been told to the supervisor by then."""
    log.begin()
    gc.set_threshold(_YOUNG_OBJECTS)
    options = cli.parse(sys.argv[1:])
    wording.choose(alone=options.allow_registration)
    channel = Channel.from_environment()
    from arriero_runtime.server import environment

    refused = environment.refused(os.environ)
    if (found := environment.unusable(options)) is not None:
        return _leave(channel, found)
    environment.prepare(os.environ, environment.own_folder(options))
    # Only now: these read the environment when they are imported.
    from arriero_runtime.engine.vllm import VllmLoader, Wishes
    from arriero_runtime.server.serving import Serving

    async def run() -> int:
        loader = VllmLoader(options.engine_args, refused, Wishes.of(options))
        return await Serving(options, loader, channel).run()

    # Not asyncio.run: its end waits for threads, and one that loads an engine cannot be hurried.
    return _loop().run_until_complete(run())


def _leave(channel: Channel | None, found: Failure) -> int:
    logging.getLogger(__name__).error("%s: %s", found.reason, found.message)
    if channel is not None:
        channel.send(Failed(found))
        channel.flush(_FLUSH_SECONDS)
    return 1


def _loop() -> asyncio.AbstractEventLoop:
    """The faster loop where the engine has brought it along, as the engine's own server does."""
    try:
        uvloop = importlib.import_module("uvloop")
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


if __name__ == "__main__":  # the engine's processes import this module again
    CODE = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads that wait for a hub or a loading engine must not hold up the end.
    os._exit(CODE)
