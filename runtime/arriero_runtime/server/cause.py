"""Why an engine has ended, as the supervisor reads it from the log: this process never sees what the engine's wrote."""

import asyncio
import logging
from dataclasses import replace
from typing import Final

from arriero_api.contract import Failure, Phase
from arriero_runtime.messages import LOG_MARK, Told

_PATIENCE_SECONDS: Final = 3.0
_VAGUE: Final = ("EngineDied", "EngineFailed")
"""What the engine's processes tell in the log alone."""
_LOG_KNOWS: Final = (
    "The server's log says why. Register the model again; where it ends so again, mend what the log tells."
)
_FATAL: Final = ("OOMKilled",)
"""Of an engine that serves: these say all."""
log = logging.getLogger(__name__)


class Cause:
    """`supervised`: somebody reads the log and answers."""

    def __init__(self, *, supervised: bool) -> None:
        self._supervised = supervised
        self._number = 0
        self._told: asyncio.Future[Failure | None] | None = None

    async def told(self) -> Failure | None:
        """Of the engine whose processes have all ended; None where the log tells nothing. The next engine's log begins
        here. For one caller at a time."""
        if not self._supervised:
            return None
        self._number += 1
        self._told = asyncio.get_running_loop().create_future()
        # By the same pipe as the engine's own lines, so behind all of them.
        log.info("%s %d", LOG_MARK, self._number)
        try:
            return await asyncio.wait_for(self._told, _PATIENCE_SECONDS)
        except TimeoutError:
            log.warning("the supervisor does not say what the engine's log tells")
            return None

    def hear(self, told: Told) -> None:
        """The answer; one that comes too late is passed over."""
        if told.number == self._number and self._told is not None and not self._told.done():
            self._told.set_result(told.failure)


def explained(found: Failure, told: Failure | None) -> Failure:
    """A failure as it is told to clients: a vague one with what the log tells, as in a pod's status. An engine that
    dies while it serves is that first, whatever its last words."""
    if found.reason not in _VAGUE:
        return found
    if told is None:
        return replace(found, remedy=_LOG_KNOWS)
    if found.phase is Phase.READY and told.reason not in _FATAL:
        return replace(found, message=f"{found.message.rstrip('.')}: {told.message}", remedy=_LOG_KNOWS)
    return replace(told, phase=found.phase)
