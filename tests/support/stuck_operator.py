"""The operator's machinery with a reconcile that gets stuck, each in its way by the model's name; TUNED as elsewhere.

`blocked` holds the whole process up for BLOCKED_SECONDS, `endless` waits for ever, `stubborn` does so and cannot be
cancelled. All others end at once.
"""

import asyncio
import logging
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from arriero_operator.cache.store import Cache
from arriero_operator.configuration.settings import Settings
from arriero_operator.kube.protocol import Kube
from arriero_operator.process.command import run
from arriero_operator.watching.news import Expected
from arriero_operator.work.keys import Key
from arriero_operator.work.result import Reconcile, Result
from tests.support.idle_operator import SAYS
from tests.support.tuned_operator import tune

_log = logging.getLogger("stuck")


@asynccontextmanager
async def make_reconcile(
    kube: Kube, cache: Cache, settings: Settings, expected: Expected, changed: Callable[[Key], None]
) -> AsyncIterator[Reconcile]:
    """A reconcile that does nothing, but for those names."""

    async def reconcile(key: Key) -> Result:
        _log.info(SAYS, extra={"key": f"{key[0]}/{key[1]}"})
        match key[1]:
            case "blocked":
                time.sleep(float(os.environ["BLOCKED_SECONDS"]))  # noqa: ASYNC251 - what is tested
            case "endless":
                await asyncio.Event().wait()
            case "stubborn":
                while True:
                    with suppress(asyncio.CancelledError):
                        await asyncio.Event().wait()
        return Result()

    yield reconcile


if __name__ == "__main__":
    tune()
    sys.exit(run(make_reconcile))
