"""What comes to the server from outside of its port: signals, and the supervisor's words."""

import asyncio
import signal
from collections.abc import Callable
from typing import Final

from arriero_api.contract import Failure
from arriero_runtime.channel import Channel
from arriero_runtime.messages import Drain, GiveUp, Told

_STOP: Final = (signal.SIGTERM, signal.SIGINT)


class Orders:
    """Calls `stop` for each order to end, also when the supervisor has gone, `give_up` where it has found the engine
    lost, and `told` for what it tells.

    `channel` is None where no supervisor has started this process.
    """

    def __init__(
        self,
        channel: Channel | None,
        stop: Callable[[], object],
        give_up: Callable[[Failure], object],
        told: Callable[[Told], object],
    ) -> None:
        self._channel = channel
        self._stop = stop
        self._give_up = give_up
        self._told = told

    def listen(self) -> None:
        """From now on, by the running loop."""
        loop = asyncio.get_running_loop()
        for number in _STOP:
            loop.add_signal_handler(number, self._stop)
        if self._channel is not None:
            loop.add_reader(self._channel.fileno(), self._hear, loop, self._channel)

    def close(self) -> None:
        """Listen no more. Harmless when repeated."""
        loop = asyncio.get_running_loop()
        for number in _STOP:
            loop.remove_signal_handler(number)
        if self._channel is not None:
            loop.remove_reader(self._channel.fileno())

    def _hear(self, loop: asyncio.AbstractEventLoop, channel: Channel) -> None:
        messages, alive = channel.poll()
        for message in messages:
            if isinstance(message, Drain):
                self._stop()
            elif isinstance(message, GiveUp):
                self._give_up(message.failure)
            elif isinstance(message, Told):
                self._told(message)
        if not alive:
            # Without a supervisor nothing would end this process with its pod.
            loop.remove_reader(channel.fileno())
            self._stop()
