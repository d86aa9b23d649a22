"""Signals as something that a selector can wait for."""

import contextlib
import os
import signal
from types import FrameType


class Signals:
    """Takes over SIGTERM, SIGINT and SIGCHLD. PID 1 without handlers loses them, so this is made before all else.

    The image's entry point blocks the first two before Python starts: one that comes meanwhile waits, and is heard now.
    """

    def __init__(self) -> None:
        self.stop_requested = False
        self._read, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        signal.signal(signal.SIGCHLD, self._child)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGINT})

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.stop_requested = True

    def _child(self, number: int, frame: FrameType | None) -> None:
        """The wake-up alone matters."""

    def fileno(self) -> int:
        """Readable once a signal has come."""
        return self._read

    def clear(self) -> None:
        """Forget the wake-ups so far; `stop_requested` stays."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._read, 4096):
                pass
