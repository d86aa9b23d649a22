"""The operator's machinery with a reconcile that only says in the log which key it was called with.

It stands in for the real reconcile, so that tests of the machinery see what the watch alone does. Optional environment:
IDLE_SECONDS, how long each reconcile takes.
"""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from arriero_operator.cache.store import Cache
from arriero_operator.configuration.settings import Settings
from arriero_operator.kube.protocol import Kube
from arriero_operator.process.command import run
from arriero_operator.watching.news import Expected
from arriero_operator.work.keys import Key
from arriero_operator.work.result import Reconcile, Result

SAYS = "Idle reconcile"

_log = logging.getLogger("idle")


@asynccontextmanager
async def make_reconcile(
    kube: Kube, cache: Cache, settings: Settings, expected: Expected, changed: Callable[[Key], None]
) -> AsyncIterator[Reconcile]:
    """A reconcile that does nothing."""
    seconds = float(os.environ.get("IDLE_SECONDS", "0"))

    async def reconcile(key: Key) -> Result:
        _log.info(SAYS, extra={"key": f"{key[0]}/{key[1]}"})
        await asyncio.sleep(seconds)
        return Result()

    yield reconcile


if __name__ == "__main__":
    sys.exit(run(make_reconcile))
